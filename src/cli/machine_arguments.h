#ifndef LINGBOT_CLI_MACHINE_ARGUMENTS_H_
#define LINGBOT_CLI_MACHINE_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/option_names.h"
#include "lingbot/options.h"

namespace lingbot::cli {

// Options about model and machine that more than one command has (arguments_machine.cc).
void AddModelsDir(CLI::App* app, std::string* target);
void AddDevice(CLI::App* app, DeviceChoice* target);
void AddAttention(CLI::App* app, AttentionBackend* target);
void AddThreads(CLI::App* app, int* target);
void AddMemoryLimit(CLI::App* app, uint64_t* target, const std::string& fallback,
                    const std::string& text);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_MACHINE_ARGUMENTS_H_
