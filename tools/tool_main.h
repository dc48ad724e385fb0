#ifndef LINGBOT_TOOLS_TOOL_MAIN_H_
#define LINGBOT_TOOLS_TOOL_MAIN_H_

#include <CLI/CLI.hpp>
#include <functional>

namespace lingbot {

// The frame of every checking tool, for `main`: parses the command line into `app`, runs `body` and
// returns the exit code, `body`'s own if it comes back with one. Whatever goes wrong is one line on
// standard error, "NAME: error: ..."; a command line that cannot be used gives 2, a failure 1.
int ToolMain(CLI::App* app, int argc, const char* const* argv, const std::function<int()>& body);

}  // namespace lingbot

#endif  // LINGBOT_TOOLS_TOOL_MAIN_H_
