#ifndef LINGBOT_CLI_BYTE_SIZE_H_
#define LINGBOT_CLI_BYTE_SIZE_H_

#include <cstdint>
#include <string>

namespace lingbot::cli {

// "4GiB" (powers of two), "800MB", "1.5 GB" (powers of ten), "1000000" (bytes). Throws
// kInvalidArgument for anything else, 0 and what exceeds 2^63 included.
uint64_t ParseByteSize(const std::string& text);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_BYTE_SIZE_H_
