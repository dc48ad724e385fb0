#include "tensor/tensor_view.h"

#include <algorithm>

#include "base/check.h"

namespace lingbot {

Shape::Shape(std::initializer_list<int64_t> extents)
    : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  Check(extents.size() <= kMaxRank, ErrorCode::kInternal, "a shape of rank {} (at most {})",
        extents.size(), kMaxRank);
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis) product *= extents_[axis];
  return product;
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(extents_[axis]);
  }
  return text + "]";
}

bool operator==(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.extents(), b.extents());
}

namespace {

Shape RowMajorStrides(const Shape& shape) {
  Shape strides = shape;
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace

TensorView::TensorView(void* data, DType dtype, const Shape& shape, Device device)
    : TensorView(data, dtype, shape, RowMajorStrides(shape), device) {}

TensorView::TensorView(void* data, DType dtype, const Shape& shape, const Shape& strides,
                       Device device)
    : data_(data), shape_(shape), strides_(strides), dtype_(dtype), device_(device) {
  Check(shape.rank() == strides.rank(), ErrorCode::kInternal, "shape {} with strides {}", shape,
        strides);
}

bool TensorView::contiguous() const {
  int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[axis] != step) return false;
    step *= shape_[axis];
  }
  return true;
}

TensorView TensorView::operator[](int64_t index) const {
  Check(rank() > 0 && index >= 0 && index < shape_[0], ErrorCode::kInternal,
        "index {} into a tensor of shape {}", index, shape_);
  return TensorView(static_cast<std::byte*>(data_) + index * strides_[0] * SizeOf(dtype_), dtype_,
                    Shape(shape_.extents().subspan(1)), Shape(strides_.extents().subspan(1)),
                    device_);
}

TensorView TensorView::Slice(int axis, int64_t begin, int64_t end) const {
  Check(axis >= 0 && axis < rank() && begin >= 0 && begin <= end && end <= shape_[axis],
        ErrorCode::kInternal, "slice [{}, {}) of axis {} of a tensor of shape {}", begin, end, axis,
        shape_);
  TensorView view = *this;
  view.data_ = static_cast<std::byte*>(data_) + begin * strides_[axis] * SizeOf(dtype_);
  view.shape_[axis] = end - begin;
  return view;
}

TensorView TensorView::Reshape(const Shape& shape) const {
  Check(contiguous() && shape.elements() == elements(), ErrorCode::kInternal,
        "cannot view a tensor of shape {} and strides {} as {}", shape_, strides_, shape);
  return TensorView(data_, dtype_, shape, device_);
}

void TensorView::CheckType(DType wanted) const {
  Check(dtype_ == wanted, ErrorCode::kInternal, "a {} tensor of shape {} read as {}",
        NameOf(dtype_), shape_, NameOf(wanted));
}

}  // namespace lingbot
