#ifndef LINGBOT_BASE_PNG_INPUT_H_
#define LINGBOT_BASE_PNG_INPUT_H_

#include <png.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>

namespace lingbot {

// libpng's reader over bytes in memory; what is read from them is for the derived class.
//
// libpng leaves a function that failed with longjmp, which skips destructors. Everything that owns
// memory is therefore a member, and functions that call setjmp have trivial locals only. Users link
// libpng themselves.
class PngInput {
 public:
  PngInput(const PngInput&) = delete;
  PngInput& operator=(const PngInput&) = delete;

  bool valid() const { return info_ != nullptr; }
  const char* problem() const { return problem_; }  // of the last failure

 protected:
  explicit PngInput(std::span<const std::byte> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
    if (png_ == nullptr) return;
    info_ = png_create_info_struct(png_);
    png_set_read_fn(png_, this, OnRead);
  }
  ~PngInput() { png_destroy_read_struct(&png_, &info_, nullptr); }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;

 private:
  static PngInput* Self(void* pointer) { return static_cast<PngInput*>(pointer); }

  [[noreturn]] static void OnError(png_structp png, const char* message) {
    std::snprintf(Self(png_get_error_ptr(png))->problem_, sizeof(problem_), "%s", message);
    png_longjmp(png, 1);
  }

  static void OnWarning(png_structp, const char*) {}

  static void OnRead(png_structp png, png_bytep target, size_t count) {
    PngInput* self = Self(png_get_io_ptr(png));
    if (count > self->rest_.size()) png_error(png, "the file ends too early");
    std::memcpy(target, self->rest_.data(), count);
    self->rest_ = self->rest_.subspan(count);
  }

  std::span<const std::byte> rest_;
  char problem_[160] = "";
};

}  // namespace lingbot

#endif  // LINGBOT_BASE_PNG_INPUT_H_
