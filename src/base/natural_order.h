#ifndef LINGBOT_BASE_NATURAL_ORDER_H_
#define LINGBOT_BASE_NATURAL_ORDER_H_

#include <string_view>

namespace lingbot {

// Whether file name `a` comes before `b` as people count: runs of ASCII digits compare as numbers
// (of any length), everything else byte by byte with ASCII letters' case ignored; names that are
// equal so far (a01, a1, A1) are ordered by their bytes. A strict total order that no locale
// changes.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace lingbot

#endif  // LINGBOT_BASE_NATURAL_ORDER_H_
