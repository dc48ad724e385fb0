#include "tools/tool_main.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include "base/program_streams.h"
#include "lingbot/error.h"

namespace lingbot {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int Report(const CLI::App& app, const std::string& message, int exit_code) {
  fmt::print(stderr, "{}: error: {}\n", app.get_name(), message);
  return exit_code;
}

int ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // prints the help that was asked for
  const auto used = app.get_subcommands();
  const std::string command = used.empty() ? "" : used.front()->get_name() + " ";
  return Report(app, fmt::format("{}; see {} {}--help", error.what(), app.get_name(), command),
                kUsage);
}

}  // namespace

int ToolMain(CLI::App* app, int argc, const char* const* argv, const std::function<int()>& body) {
  PrepareProgramStreams();
  try {
    app->parse(argc, argv);
    return body();
  } catch (const CLI::ParseError& error) {
    return ReportParseError(*app, error);
  } catch (const Error& error) {
    const bool usage =
        error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kUnavailable;
    return Report(*app, error.what(), usage ? kUsage : kFailed);
  } catch (const std::exception& error) {
    return Report(*app, error.what(), kFailed);
  }
}

}  // namespace lingbot
