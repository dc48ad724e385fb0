#include "weights/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "base/system_memory.h"
#include "weights/safetensors_writer.h"
#include "weights/test_support.h"
#include "weights/torch_test_files.h"

namespace lingbot {
namespace {

std::string File(const std::string& header, const std::string& data = "") {
  return RawNumber(static_cast<uint64_t>(header.size())) + header + data;
}

StoredTensors Parse(const std::string& file) { return ParseSafetensors(AsBytes(file), "a file"); }

std::string Repeat(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string OneTensor(const std::string& dtype, const std::string& shape, const std::string& end) {
  return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":[0,{}]}}}})", dtype, shape,
                     end);
}

TEST(Safetensors, RoundTripsEveryTypeAndMetadata) {
  const TemporaryFolder folder;
  const auto path = folder / "all.safetensors";
  const std::map<std::string, std::string> metadata = {{"config", R"({"seed": 7})"}, {"é", "ü"}};
  {
    SafetensorsWriter writer(path,
                             {{"u8", {DType::kU8, {3}}},
                              {"module._orig_mod.module.f32", {DType::kF32, {2, 2}}},
                              {"i32", {DType::kI32, {2}}},
                              {"bf16", {DType::kBF16, {1, 2}}},
                              {"f64", {DType::kF64, {}}},
                              {"i64", {DType::kI64, {1}}},
                              {"f16", {DType::kF16, {1}}},
                              {"bool", {DType::kBool, {2}}},
                              {"empty", {DType::kF32, {0, 3}}},
                              {"i16", {DType::kI16, {1}}},
                              {"i8", {DType::kI8, {1}}}},
                             metadata);
    writer.WriteValues<uint8_t>("u8", std::vector<uint8_t>{1, 2, 255});
    writer.WriteValues<float>("module._orig_mod.module.f32", std::vector<float>{1, 2, 3, -4.5f});
    writer.WriteValues<int32_t>("i32", std::vector<int32_t>{-7, 1 << 20});
    writer.WriteValues<uint16_t>("bf16", std::vector<uint16_t>{0x3F80, 0xC000});
    writer.WriteValues<double>("f64", std::vector<double>{0.125});
    writer.WriteValues<int64_t>("i64", std::vector<int64_t>{-9});
    writer.WriteValues<uint16_t>("f16", std::vector<uint16_t>{0x3C00});
    writer.WriteValues<uint8_t>("bool", std::vector<uint8_t>{0, 1});
    writer.Write("empty", {});
    writer.WriteValues<int16_t>("i16", std::vector<int16_t>{-300});
    writer.WriteValues<int8_t>("i8", std::vector<int8_t>{-128});
    writer.Finish();
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "all.safetensors.partial"));
  const auto source = OpenSafetensors(path);
  EXPECT_EQ(source->metadata(), metadata);
  EXPECT_EQ(source->tensors().size(), 11u);
  EXPECT_EQ(Values(*source, "u8"), (std::vector<float>{1, 2, 255}));
  EXPECT_EQ(Values(*source, "f32"), (std::vector<float>{1, 2, 3, -4.5f}));
  EXPECT_EQ(Values(*source, "i32"), (std::vector<float>{-7, 1 << 20}));
  EXPECT_EQ(Values(*source, "bf16"), (std::vector<float>{1, -2}));
  EXPECT_EQ(Values(*source, "f64"), (std::vector<float>{0.125f}));
  EXPECT_EQ(Values(*source, "i64"), (std::vector<float>{-9}));
  EXPECT_EQ(Values(*source, "f16"), (std::vector<float>{1}));
  EXPECT_EQ(Values(*source, "bool"), (std::vector<float>{0, 1}));
  EXPECT_EQ(Values(*source, "empty"), (std::vector<float>{}));
  EXPECT_EQ(Values(*source, "i16"), (std::vector<float>{-300}));
  EXPECT_EQ(Values(*source, "i8"), (std::vector<float>{-128}));
  EXPECT_EQ(source->Find("bf16").dtype, DType::kBF16);
  EXPECT_EQ(source->Find("empty").shape, (Shape{0, 3}));
}

TEST(Safetensors, NamesMissingAndMisshapenTensors) {
  const std::string file = File(OneTensor("F32", "[1,2]", "8"), Raw<float>({1, 2}));
  const StoredTensorSource source("x.safetensors", Parse(file), AsBytes(file));
  EXPECT_EQ(source.Read("a", {1, 2}).data<float>()[1], 2.0f);
  ExpectError(ErrorCode::kMissingTensor, {"'b'", "x.safetensors"}, [&] {
    source.Read("b", {1, 2});
  });
  ExpectError(ErrorCode::kMissingTensor, {"'b'"}, [&] { source.ReadFloats("b", nullptr); });
  ExpectError(ErrorCode::kShapeMismatch, {"'a'", "x.safetensors", "[1, 2]", "[2, 1]"}, [&] {
    source.Read("a", {2, 1});
  });
}

TEST(Safetensors, RefusesBrokenHeaders) {
  const auto expect = [](ErrorCode code, const std::string& part, const std::string& file) {
    SCOPED_TRACE(file);
    ExpectError(code, {"a file", part}, [&] { Parse(file); });
  };
  const auto corrupt = [&](const std::string& part, const std::string& header,
                           const std::string& data = "") {
    expect(ErrorCode::kCorruptFile, part, File(header, data));
  };
  const std::string four(4, '\1');
  expect(ErrorCode::kCorruptFile, "too few", "1234567");
  expect(ErrorCode::kCorruptFile, "18446744073709551615 bytes", std::string(8, '\xFF') + "{}");
  expect(ErrorCode::kCorruptFile, "truncated", RawNumber(uint64_t{100}) + "{}");
  corrupt("does not begin", "");
  corrupt("does not begin", "[]");
  corrupt("not JSON", "{");
  corrupt("not JSON", "{}x");
  corrupt("a number", R"({"a":1})");
  corrupt("an object", R"({"a":{"b":{}}})");
  corrupt("a list", R"({"a":{"shape":[[1]]}})");
  corrupt("a list", R"({"a":[]})");
  corrupt("a null", R"({"a":{"dtype":null}})");
  corrupt("a number", R"({"__metadata__":{"k":1}})");
  corrupt("repeated key", R"({"__metadata__":{"k":"1","k":"2"}})");
  corrupt("repeated key", R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}})");
  corrupt("a string", R"({"a":{"dtype":"U8","dtype":"U8"}})");
  corrupt("lacks", R"({"a":{"dtype":"U8","shape":[0]}})");
  corrupt("lacks", R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}})");
  corrupt("more than 64", fmt::format(R"({{"a":{{"shape":[{}1]}}}})", Repeat("1,", 80)));
  corrupt("above 2^63", OneTensor("U8", "[18446744073709551615]", "4"), four);
  corrupt("a fraction", OneTensor("U8", "[4.0]", "4"), four);
  corrupt("negative extent", OneTensor("U8", "[-4]", "4"), four);
  corrupt("2^40", OneTensor("U8", "[4294967296,4294967296,0]", "0"));
  corrupt("2^40", OneTensor("U8", "[4294967296,4294967296,4294967296]", "4"), four);
  corrupt("takes 4 bytes", OneTensor("U8", "[3]", "4"), four);
  corrupt("takes 4 bytes", OneTensor("F32", "[2]", "4"), four);
  corrupt("truncated", OneTensor("F32", "[2]", "8"), four);
  corrupt("data offsets", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", four);
  corrupt("data offsets", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}})", four);
  corrupt("after its last tensor", OneTensor("U8", "[3]", "3"), four);
  corrupt("overlap",
          R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
          R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
          four);
  corrupt("gap",
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
          R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
          four);
  corrupt("twice",
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
          R"("module.a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
          four);
  corrupt("without a name", R"({"":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", four);
  corrupt("control characters", R"({"\u001b[2J":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          four);
  expect(ErrorCode::kUnsupportedFormat, "F8_E4M3", File(OneTensor("F8_E4M3", "[4]", "4"), four));
  expect(ErrorCode::kUnsupportedFormat, "7 axes",
         File(OneTensor("U8", "[1,1,1,1,1,1,4]", "4"), four));
  corrupt("an object", Repeat(R"({"a":)", 100'000));
}

TEST(SafetensorsWriter, RefusesMisuse) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  const SafetensorsWriter::Entry entry{"a", {DType::kU8, {2}}};
  const auto invalid = [](const std::vector<std::string>& parts, auto action) {
    ExpectError(ErrorCode::kInvalidArgument, parts, action);
  };
  invalid({"'a'"}, [&] { SafetensorsWriter(path, {entry, entry}); });
  invalid({"__metadata__"}, [&] { SafetensorsWriter(path, {{"__metadata__", {}}}); });
  invalid({"UTF-8"}, [&] { SafetensorsWriter(path, {}, {{"k", "\xFF"}}); });
  ExpectError(ErrorCode::kFileUnwritable, {"missing/x"},
              [&] { SafetensorsWriter(folder / "missing/x", {entry}); });
  {
    SafetensorsWriter writer(path, {entry});
    EXPECT_TRUE(std::filesystem::exists(folder / "x.safetensors.partial"));
    invalid({"'b'", "'a'"}, [&] { writer.Write("b", AsBytes("xx")); });
    invalid({"[2]", "3 bytes"}, [&] { writer.Write("a", AsBytes("xxx")); });
    invalid({"0 of the 1"}, [&] { writer.Finish(); });
    writer.Write("a", AsBytes("xx"));
    invalid({"no more"}, [&] { writer.Write("a", AsBytes("xx")); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, ReportsAFullDisk) {
  // A limit on the size of files stands in for the disk: writing beyond it fails in the same way.
  const TemporaryFolder folder;
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = old;
  small.rlim_cur = 100'000;
  setrlimit(RLIMIT_FSIZE, &small);
  {
    SafetensorsWriter writer(folder / "x.safetensors", {{"a", {DType::kU8, {200'000}}}});
    const std::vector<uint8_t> data(200'000);
    ExpectError(ErrorCode::kFileUnwritable, {"x.safetensors", "free space"},
                [&] { writer.WriteValues<uint8_t>("a", data); });
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, previous);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Safetensors, LoadsOneTensorAtATime) {
  const TemporaryFolder folder;
  const auto path = folder / "large.safetensors";
  constexpr int64_t kTensors = 16, kElements = 1 << 20;  // 64 MiB
  std::vector<SafetensorsWriter::Entry> entries;
  for (int i = 0; i < kTensors; ++i) {
    entries.push_back({fmt::format("t{}", i), {DType::kF32, {kElements}}});
  }
  {
    SafetensorsWriter writer(path, entries);
    std::vector<float> data(kElements);
    for (int i = 0; i < kTensors; ++i) {
      std::fill(data.begin(), data.end(), static_cast<float>(i));
      writer.WriteValues<float>(entries[i].name, data);
    }
    writer.Finish();
  }
  const auto source = OpenSafetensors(path);
  std::vector<float> target(kElements);
  const uint64_t before = ResidentMemory();
  uint64_t highest = before;
  for (int i = 0; i < kTensors; ++i) {
    source->ReadFloats(entries[i].name, target.data());
    EXPECT_EQ(target.back(), static_cast<float>(i));
    highest = std::max(highest, ResidentMemory());
  }
  // One tensor, and as much again for what the allocator and the kernel do on the side.
  EXPECT_LT(highest - before, 2u * kElements * sizeof(float));
}

}  // namespace
}  // namespace lingbot
