// Feeds the parsers every truncation and many single-byte changes of small files. Whatever parses
// must also be readable; whatever does not must throw an Error. The sanitizer builds look for
// everything else.

#include <gtest/gtest.h>

#include <random>

#include "weights/checkpoint.h"
#include "weights/safetensors.h"
#include "weights/test_support.h"
#include "weights/torch_pt.h"
#include "weights/torch_test_files.h"

namespace lingbot {
namespace {

using Parser = StoredTensors (*)(std::span<const std::byte>, const std::string&);

// True if the file was accepted.
bool ParseAndRead(Parser parse, const std::string& file) {
  // A copy of exactly the right size, so that a byte too far is seen.
  const std::vector<char> bytes(file.begin(), file.end());
  const auto span = std::as_bytes(std::span(bytes));
  try {
    const StoredTensorSource source("a file", parse(span, "a file"), span);
    for (const auto& [name, info] : source.tensors()) {
      constexpr int64_t kEnough = 1 << 16;
      if (info.shape.elements() <= kEnough) Values(source, name);
    }
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    return false;
  }
}

void Mutate(Parser parse, const std::string& whole) {
  ASSERT_TRUE(ParseAndRead(parse, whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseAndRead(parse, whole.substr(0, length))) << length;
  }
  std::mt19937 random(1);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xFF, static_cast<int>(random() % 254 + 1)}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      ParseAndRead(parse, changed);
    }
  }
  for (int i = 0; i < 2000; ++i) {  // a piece moved over another
    std::string changed = whole;
    const size_t length = random() % 16 + 1;
    const size_t from = random() % (whole.size() - length);
    changed.replace(random() % (whole.size() - length), length, whole, from, length);
    ParseAndRead(parse, changed);
  }
}

TEST(Mutations, OfSafetensors) {
  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("module.b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}})";
  Mutate(ParseSafetensors,
         RawNumber(static_cast<uint64_t>(header.size())) + header + std::string(26, '\x3F'));
}

std::string TorchPickle() {
  PickleWriter pickle(4);
  pickle.Op("}\x94(").Text("model").EmptyOrderedDict().Op("q\1(");
  pickle.Text("module.a").Tensor({"FloatStorage", "0", 12, 0, {2, 3}, {1, 2}});
  pickle.Text("b").Global("torch._utils", "_rebuild_parameter").Op("(");
  pickle.Tensor({"HalfStorage", "1", 4, 1, {3}, {1}}).Op("\x88").EmptyOrderedDict().Op("tRu");
  pickle.Text("args").Global("argparse", "Namespace").Op(")\x81}").Text("x").Int(1).Op("sb");
  return pickle.Op("u").Stop();
}

TEST(Mutations, OfTorchZip) {
  Mutate(ParseTorchPt, TorchZip(TorchPickle(), {std::string(48, '\x3F'), "12345678"}).Write());
}

TEST(Mutations, OfTorchZip64) {
  Mutate(ParseTorchPt, TorchZip(TorchPickle(), {std::string(48, '\x3F'), "12345678"}).Write(true));
}

}  // namespace
}  // namespace lingbot
