#ifndef LINGBOT_OPS_CUDA_EPILOGUE_H_
#define LINGBOT_OPS_CUDA_EPILOGUE_H_

namespace lingbot::ops::cuda {

// What happens to a product or convolution r, bias included, before it reaches y.
enum class Epilogue {
  kStore,       // y = r
  kRelu,        // y = max(r, 0)
  kGelu,        // y = gelu(r), the exact one (erf)
  kAccumulate,  // y += r
};

}  // namespace lingbot::ops::cuda

#endif  // LINGBOT_OPS_CUDA_EPILOGUE_H_
