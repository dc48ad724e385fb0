#ifndef LINGBOT_CLI_NAMES_H_
#define LINGBOT_CLI_NAMES_H_

#include "base/option_names.h"

namespace lingbot::cli {

// The words that the command line uses.
const char* NameOf(Precision precision);  // "auto", "fp32", "bf16"
using lingbot::NameOf;                    // of attention back ends and devices

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_NAMES_H_
