#include "model/config.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"
#include "weights/hashed_weights.h"

namespace lingbot {
namespace {}  // namespace
}  // namespace lingbot
