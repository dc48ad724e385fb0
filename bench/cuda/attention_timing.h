#ifndef LINGBOT_BENCH_CUDA_ATTENTION_TIMING_H_
#define LINGBOT_BENCH_CUDA_ATTENTION_TIMING_H_

#include "ops/cuda/attention_paged.h"

struct cublasContext;

namespace lingbot::bench {

// Prints milliseconds and TFLOP/s of the back ends at the sizes of the released model.
void TimeAttention(ops::cuda::CudaStream stream, cublasContext* blas);

}  // namespace lingbot::bench

#endif  // LINGBOT_BENCH_CUDA_ATTENTION_TIMING_H_
