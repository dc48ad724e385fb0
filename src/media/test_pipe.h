#ifndef LINGBOT_MEDIA_TEST_PIPE_H_
#define LINGBOT_MEDIA_TEST_PIPE_H_

#include <unistd.h>

#include <stdexcept>
#include <string>

namespace lingbot::testing_pipe {

// A pipe of this process. What is written must fit into it (64 KiB).
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) throw std::runtime_error("pipe");
  }
  ~Pipe() {
    CloseWriter();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  void Write(const std::string& bytes) {
    if (::write(ends_[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("write");
    }
  }
  void CloseWriter() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2];
};

}  // namespace lingbot::testing_pipe

#endif  // LINGBOT_MEDIA_TEST_PIPE_H_
