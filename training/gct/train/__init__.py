"""Losses, optimiser and the training loop."""
