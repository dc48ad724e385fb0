#ifndef LINGBOT_CLI_NAMES_H_
#define LINGBOT_CLI_NAMES_H_

#include "lingbot/options.h"

namespace lingbot::cli {

// The words that the command line uses.
const char* NameOf(Precision precision);         // "auto", "fp32", "bf16"
const char* NameOf(AttentionBackend attention);  // "auto", "reference", "cpu", "sdpa"

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_NAMES_H_
