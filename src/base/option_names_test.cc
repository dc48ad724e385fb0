#include "base/option_names.h"

#include <gtest/gtest.h>

#include "lingbot/error.h"

namespace lingbot {
namespace {

TEST(OptionNames, DevicesAreReadAndPrinted) {
  EXPECT_EQ(ParseDevice("auto").kind, DeviceKind::kAuto);
  EXPECT_EQ(ParseDevice("cpu").kind, DeviceKind::kCpu);
  EXPECT_EQ(NameOf(ParseDevice("cuda")), "cuda:0");
  EXPECT_EQ(NameOf(ParseDevice("cuda:12")), "cuda:12");
  for (const char* bad :
       {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "CUDA", "cuda:99999999999999999999"}) {
    EXPECT_THROW(ParseDevice(bad), Error) << bad;
  }
}

TEST(OptionNames, EveryBackEndHasAName) {
  for (const auto& [name, backend] : AttentionBackendNames()) EXPECT_EQ(NameOf(backend), name);
  EXPECT_EQ(AttentionBackendNames().size(), 7u);
}

}  // namespace
}  // namespace lingbot
