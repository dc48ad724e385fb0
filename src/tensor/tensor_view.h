#ifndef LINGBOT_TENSOR_TENSOR_VIEW_H_
#define LINGBOT_TENSOR_TENSOR_VIEW_H_

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/dtype.h"

namespace lingbot {

// Where memory lives. Operators dispatch on it.
enum class Device : uint8_t { kCpu, kCuda };

// Up to six extents, outermost first. Rank 0 is a scalar.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents);
  explicit Shape(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  int64_t& operator[](int axis) { return extents_[axis]; }
  int64_t elements() const;  // product of the extents; 1 for a scalar
  std::span<const int64_t> extents() const { return {extents_.data(), static_cast<size_t>(rank_)}; }
  std::string ToString() const;  // "[2, 3]"

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

// A typed, strided window onto memory that somebody else owns. Strides count elements.
class TensorView {
 public:
  TensorView() = default;
  // Contiguous, row-major.
  TensorView(void* data, DType dtype, const Shape& shape, Device device = Device::kCpu);
  TensorView(void* data, DType dtype, const Shape& shape, const Shape& strides,
             Device device = Device::kCpu);

  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t stride(int axis) const { return strides_[axis]; }
  const Shape& strides() const { return strides_; }
  int64_t elements() const { return shape_.elements(); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  void* raw() const { return data_; }
  bool contiguous() const;

  // The data as T; T must be the type that dtype() names (float, BFloat16, int32_t, ...). A view is
  // like a pointer: its constness does not protect the elements.
  template <typename T>
  T* data() const {
    CheckType(TypeOf<T>());
    return static_cast<T*>(data_);
  }

  // Index `index` of the first axis; the rank falls by one.
  TensorView operator[](int64_t index) const;
  // [begin, end) of `axis`.
  TensorView Slice(int axis, int64_t begin, int64_t end) const;
  // Same elements, other shape; contiguous views only.
  TensorView Reshape(const Shape& shape) const;

 private:
  template <typename T>
  static constexpr DType TypeOf();
  void CheckType(DType wanted) const;

  void* data_ = nullptr;
  Shape shape_;
  Shape strides_;
  DType dtype_ = DType::kF32;
  Device device_ = Device::kCpu;
};

template <>
constexpr DType TensorView::TypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType TensorView::TypeOf<BFloat16>() {
  return DType::kBF16;
}
template <>
constexpr DType TensorView::TypeOf<double>() {
  return DType::kF64;
}
template <>
constexpr DType TensorView::TypeOf<int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType TensorView::TypeOf<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType TensorView::TypeOf<uint8_t>() {
  return DType::kU8;
}

}  // namespace lingbot

// Shapes in messages: formatted only when the message is needed.
template <>
struct fmt::formatter<lingbot::Shape> : fmt::formatter<fmt::string_view> {
  template <typename FormatContext>
  auto format(const lingbot::Shape& shape, FormatContext& context) const {
    return fmt::formatter<fmt::string_view>::format(shape.ToString(), context);
  }
};

#endif  // LINGBOT_TENSOR_TENSOR_VIEW_H_
