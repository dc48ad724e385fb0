#ifndef LINGBOT_CLI_TIME_TEXT_H_
#define LINGBOT_CLI_TIME_TEXT_H_

#include <string_view>

namespace lingbot::cli {

// Seconds of "90", "2.5", "1:30" or "01:02:03.25": minutes and hours in front, each number after
// the first below 60. Throws kInvalidArgument for anything else.
double ParseTime(std::string_view text);

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_TIME_TEXT_H_
