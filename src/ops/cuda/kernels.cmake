# Launchers and device code of every operator but attention.
set(LINGBOT_CUDA_OPERATOR_SOURCES
    cuda/check.cc cuda/conv.cc cuda/conv_plan.cc cuda/linear.cc
    cuda/elementwise.cu cuda/feature_maps.cu cuda/layer_norm.cu cuda/norm_rotate.cu
    cuda/plain_conv.cu cuda/plain_linear.cu cuda/resize.cu cuda/small_rows.cu)
# What they link: cublasLt, cudart, cudnn.
