#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "tensor/arena.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace lingbot {
namespace {

TEST(TensorView, SlicesAndIndexesByStride) {
  const Buffer buffer(DType::kF32, {2, 3, 4});
  for (int i = 0; i < 24; ++i) buffer.data<float>()[i] = static_cast<float>(i);
  const TensorView middle = buffer.view().Slice(1, 1, 3);
  EXPECT_EQ(middle.shape(), (Shape{2, 2, 4}));
  EXPECT_FALSE(middle.contiguous());
  EXPECT_EQ(middle[1][0].data<float>()[2], 18.0f);
  EXPECT_THROW(middle.Reshape({16}), Error);
  EXPECT_EQ(buffer.view().Reshape({6, 4})[5].data<float>()[3], 23.0f);
  EXPECT_THROW(buffer.view()[2], Error);
  EXPECT_THROW(buffer.data<int32_t>(), Error);
}

TEST(Arena, ReusesScopesAndChecksThePlan) {
  Arena arena(4096);
  void* first = nullptr;
  {
    const Arena::Scope scope(arena);
    first = arena.Floats({100}).raw();
    EXPECT_THROW(arena.Floats({1000}), Error);
  }
  EXPECT_EQ(arena.Floats({1024}).raw(), first);
  EXPECT_EQ(arena.high_water(), 4096u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % kAlignment, 0u);
}

}  // namespace
}  // namespace lingbot
