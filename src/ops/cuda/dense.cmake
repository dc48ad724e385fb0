set(LINGBOT_CUDA_DENSE_SOURCES
    cuda/attention_dense.cc cuda/attention_dense_64.cu cuda/attention_dense_128.cu
    cuda/attention_dense_merge.cu)
