# Launchers and device code of every operator but attention.
set(LINGBOT_CUDA_OPERATOR_SOURCES
    cuda/algorithm_choice.cc cuda/check.cc cuda/conv.cc cuda/conv_plan.cc cuda/linear.cc
    cuda/elementwise.cu cuda/feature_maps.cu cuda/layer_norm.cu cuda/norm_rotate.cu
    cuda/plain_conv.cu cuda/plain_linear.cu cuda/resize.cu cuda/small_rows.cu)

# They skip where there is no device.
lingbot_test(cuda_ops_test
  SOURCES cuda/blocks_test.cc cuda/conv_test.cc cuda/elementwise_test.cc cuda/linear_test.cc
  DEPENDS lingbot_ops CUDA::cudart_static)
