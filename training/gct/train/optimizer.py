"""Muon for the matrices of the transformer blocks, AdamW for the rest, over one flat buffer.

All parameters are views of one flat tensor, ordered so that matrices of one shape lie side by side: the
gradients of all processes are summed in one operation, and each group of matrices is updated as one stack.
"""
import math

import torch

BLOCK_MATRICES = ('attn.qkv', 'attn.proj', 'mlp.fc1', 'mlp.fc2', 'poseLN_modulation')
STACKED = ('attn.qkv', 'poseLN_modulation')  # three matrices on top of each other
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)    # Jordan et al. 2024, five steps
GRADIENT_CLIP = 5.0


def is_block_matrix(name, parameter):
    return parameter.dim() == 2 and name.endswith('.weight') and any(part in name for part in BLOCK_MATRICES)


def orthogonalise(stack):
    """Nearest (roughly) orthogonal matrices to [n, r, c], r <= c."""
    x = stack / (stack.norm(dim=(1, 2), keepdim=True) + 1e-12)
    x = x.bfloat16() if x.is_cuda else x
    a, b, c = NEWTON_SCHULZ
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.float()


class FlatOptimizer:
    """step() takes the summed gradients in `gradient`; learning rates are tensors, so a CUDA graph may hold it."""

    def __init__(self, named_parameters, momentum=0.95, betas=(0.9, 0.98), decay=0.02):
        named = [(n, p) for n, p in named_parameters if p.requires_grad]
        matrices = {}
        for name, parameter in named:
            if is_block_matrix(name, parameter):
                parts = 3 if any(part in name for part in STACKED) else 1
                rows, cols = parameter.shape[0] // parts, parameter.shape[1]
                matrices.setdefault((rows, cols), []).append(parameter)
        taken = {id(p) for group in matrices.values() for p in group}
        rest = [p for _, p in named if id(p) not in taken]
        weights, vectors = [p for p in rest if p.dim() >= 2], [p for p in rest if p.dim() < 2]
        self.parameters = [p for group in matrices.values() for p in group] + weights + vectors
        self._flatten()
        device = self.flat.device
        self.groups, offset = [], 0
        for shape, group in matrices.items():
            size = sum(p.numel() for p in group)
            self.groups.append((shape, slice(offset, offset + size)))
            offset += size
        self.first_moment = torch.zeros_like(self.flat)
        self.adam, self.decayed = slice(offset, None), sum(p.numel() for p in weights)
        self.second_moment = torch.zeros_like(self.flat[self.adam])
        self.momentum, self.betas, self.decay = momentum, betas, decay
        self.steps = torch.zeros((), device=device)
        self.matrix_rate, self.rate = torch.zeros((), device=device), torch.zeros((), device=device)

    def _flatten(self):
        self.flat = torch.cat([p.detach().reshape(-1) for p in self.parameters])
        self.gradient = torch.zeros_like(self.flat)
        self.gradient_views, offset = [], 0
        for parameter in self.parameters:
            end = offset + parameter.numel()
            parameter.data = self.flat[offset:end].view(parameter.shape)
            self.gradient_views.append(self.gradient[offset:end].view(parameter.shape))
            offset = end

    def set_rates(self, matrix_rate, rate):
        self.matrix_rate.fill_(matrix_rate)
        self.rate.fill_(rate)

    def collect(self, scale):
        """Moves the parameters' gradients, times `scale`, into the flat buffer."""
        gradients = [p.grad for p in self.parameters]
        torch._foreach_copy_(self.gradient_views, gradients) if hasattr(torch, '_foreach_copy_') else \
            [view.copy_(g) for view, g in zip(self.gradient_views, gradients)]
        if scale != 1.0:
            self.gradient.mul_(scale)
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self):
        norm = self.gradient.norm()
        # A step with a gradient that is not finite does nothing.
        factor = torch.where(norm.isfinite(), (GRADIENT_CLIP / (norm + 1e-6)).clamp(max=1.0), torch.zeros_like(norm))
        gradient = torch.where(norm.isfinite(), self.gradient * factor, torch.zeros_like(self.gradient))
        self.steps += 1
        for (rows, cols), part in self.groups:
            self._muon(gradient[part].view(-1, rows, cols), self.first_moment[part].view(-1, rows, cols),
                       self.flat[part].view(-1, rows, cols))
        self._adam(gradient[self.adam], self.first_moment[self.adam], self.flat[self.adam])

    def _muon(self, gradient, moment, weights):
        rows, cols = weights.shape[1:]
        moment.lerp_(gradient, 1 - self.momentum)
        update = gradient.lerp(moment, self.momentum)  # Nesterov
        update = orthogonalise(update.mT).mT if rows > cols else orthogonalise(update)
        weights.mul_(1 - self.matrix_rate * self.decay)
        weights.sub_(update * (self.matrix_rate * (0.2 * math.sqrt(max(rows, cols)))))

    def _adam(self, gradient, moment, weights):
        beta1, beta2 = self.betas
        moment.lerp_(gradient, 1 - beta1)
        self.second_moment.lerp_(gradient.square(), 1 - beta2)
        scale1, scale2 = 1 - beta1 ** self.steps, 1 - beta2 ** self.steps
        weights[:self.decayed].mul_(1 - self.rate * self.decay)
        weights.sub_(self.rate * (moment / scale1) / ((self.second_moment / scale2).sqrt() + 1e-8))
