#include "base/natural_order.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <clocale>
#include <string>
#include <vector>

namespace lingbot {
namespace {

using Names = std::vector<std::string>;

Names Sorted(Names names) {
  std::sort(names.begin(), names.end(), NaturalLess);
  return names;
}

TEST(NaturalOrder, CountsAsPeopleDo) {
  const Names expected = {"a.jpg",
                          "b.JPEG",
                          "c.PNG",
                          "frame_1.png",
                          "frame_2.png",
                          "frame_10.png",
                          "frame_100.png",
                          "img1_2.png",
                          "img1_10.png",
                          "img2_1.png",
                          "\xC3\xA9t\xC3\xA9_1.png"};
  Names shuffled = expected;
  std::reverse(shuffled.begin(), shuffled.end());
  EXPECT_EQ(Sorted(shuffled), expected);
}

TEST(NaturalOrder, NumbersLongerThanAnyInteger) {
  const std::string nines(40, '9'), one = "1" + std::string(40, '0');
  EXPECT_TRUE(NaturalLess(nines, one));
  EXPECT_FALSE(NaturalLess(one, nines));
}

TEST(NaturalOrder, LeadingZerosOnlyBreakTies) {
  EXPECT_EQ(Sorted({"f1", "f01", "f001", "f2", "f002"}),
            (Names{"f001", "f01", "f1", "f002", "f2"}));
  EXPECT_TRUE(NaturalLess("f01b", "f1c"));
  EXPECT_TRUE(NaturalLess("f1b", "f01c"));
}

TEST(NaturalOrder, CaseOnlyBreaksTies) {
  EXPECT_EQ(Sorted({"img_3.jpg", "IMG_2.JPG", "IMG_10.JPG", "Img_3.jpg"}),
            (Names{"IMG_2.JPG", "Img_3.jpg", "img_3.jpg", "IMG_10.JPG"}));
}

TEST(NaturalOrder, IsAStrictTotalOrder) {
  const auto name =
      rc::gen::container<std::string>(rc::gen::element('0', '1', '9', 'a', 'A', '_', '.', '\xFF'));
  EXPECT_TRUE(rc::check([&] {
    const std::string a = *name, b = *name, c = *name;
    RC_ASSERT(!NaturalLess(a, a));
    RC_ASSERT(NaturalLess(a, b) + NaturalLess(b, a) == (a == b ? 0 : 1));
    if (NaturalLess(a, b) && NaturalLess(b, c)) RC_ASSERT(NaturalLess(a, c));
  }));
}

}  // namespace
}  // namespace lingbot
