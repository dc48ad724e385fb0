#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <stdexcept>

namespace lingbot::cli {
namespace {

// Appends what can be read without waiting for more than one piece; false at the end.
bool ReadPiece(int descriptor, std::string* text) {
  char buffer[4096];
  const ssize_t count = ::read(descriptor, buffer, sizeof(buffer));
  if (count > 0) text->append(buffer, static_cast<size_t>(count));
  return count > 0;
}

[[noreturn]] void Exec(const std::string& path, const std::vector<std::string>& arguments,
                       const Limits& limits, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves no run behind
  const char* input = limits.stdin_path.empty() ? "/dev/null" : limits.stdin_path.c_str();
  ::dup2(::open(input, O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  const int target =
      limits.stdout_path.empty() ? out : ::open(limits.stdout_path.c_str(), O_WRONLY | O_CLOEXEC);
  ::dup2(target, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (limits.file_bytes > 0) {
    const rlimit limit = {limits.file_bytes, limits.file_bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  for (const int descriptor : limits.closed) ::close(descriptor);
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  ::_exit(126);
}

}  // namespace

nlohmann::json Finished::json() const {
  return nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
}

std::vector<std::string> Finished::error_lines() const {
  std::vector<std::string> lines;
  std::istringstream stream(err);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("lingbot-map: error: ", 0) == 0) lines.push_back(line);
  }
  return lines;
}

Program::Program(const std::vector<std::string>& arguments, const Limits& limits,
                 const std::string& path) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe");
  }
  child_ = ::fork();
  if (child_ < 0) throw std::runtime_error("fork");
  if (child_ == 0) Exec(path, arguments, limits, out[1], err[1]);
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Program::~Program() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    Wait();
  }
}

bool Program::WaitForError(const std::string& text) {
  while (finished_.err.find(text) == std::string::npos) {
    if (!ReadPiece(err_, &finished_.err)) return false;
  }
  return true;
}

void Program::Send(int signal) { ::kill(child_, signal); }

bool Program::ended() const {
  siginfo_t info = {};
  return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child_;
}

Finished Program::Wait() {
  pollfd files[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  std::string* texts[2] = {&finished_.out, &finished_.err};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    ::poll(files, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (files[i].fd >= 0 && files[i].revents != 0 && !ReadPiece(files[i].fd, texts[i])) {
        files[i].fd = -1;
      }
    }
  }
  ::close(out_);
  ::close(err_);
  int status = 0;
  ::waitpid(child_, &status, 0);
  child_ = -1;
  if (WIFEXITED(status)) finished_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished_.signal = WTERMSIG(status);
  return finished_;
}

Finished RunProgram(const std::vector<std::string>& arguments, const Limits& limits) {
  return Program(arguments, limits).Wait();
}

Finished RunTool(const std::string& name, const std::vector<std::string>& arguments) {
  return Program(arguments, {}, std::string(LINGBOT_BIN) + "/" + name).Wait();
}

}  // namespace lingbot::cli
