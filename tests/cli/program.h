#ifndef LINGBOT_TESTS_CLI_PROGRAM_H_
#define LINGBOT_TESTS_CLI_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lingbot::cli {

// What a finished program left behind.
struct Finished {
  int exit_code = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out;
  std::string err;

  nlohmann::json json() const;                   // of `out`; discarded if that is no JSON
  std::vector<std::string> error_lines() const;  // of `err`, those that are no notes or progress
};

struct Limits {
  uint64_t file_bytes = 0;  // RLIMIT_FSIZE; 0 = none
  std::string stdout_path;  // instead of a pipe
  std::vector<int> closed =
      {};  // of descriptors 0 to 2, those that do not exist when the program starts
  std::string stdin_path = {};  // instead of /dev/null
};

// A program as a child process: lingbot-map, or another one of the build.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Limits& limits = {},
                   const std::string& path = LINGBOT_PROGRAM);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Reads standard error until `text` stands in it; false if the program ends before.
  bool WaitForError(const std::string& text);
  void Send(int signal);
  pid_t process() const { return child_; }
  bool ended() const;  // without waiting
  Finished Wait();

 private:
  pid_t child_ = -1;
  int out_ = -1;
  int err_ = -1;
  Finished finished_;
};

Finished RunProgram(const std::vector<std::string>& arguments, const Limits& limits = {});

// A tool of the build by its name.
Finished RunTool(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace lingbot::cli

#endif  // LINGBOT_TESTS_CLI_PROGRAM_H_
