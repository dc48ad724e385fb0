#include "weights/checkpoint.h"

#include <gtest/gtest.h>

#include "weights/safetensors_writer.h"
#include "weights/test_support.h"
#include "weights/torch_test_files.h"

namespace lingbot {
namespace {

std::string SmallTorchFile() {
  PickleWriter pickle;
  pickle.Op("}").Text("w").Tensor({"FloatStorage", "0", 600, 0, {600}, {1}}).Op("s");
  return TorchZip(pickle.Stop(), {std::string(2400, '\1')}).Write();
}

std::string SmallSafetensorsFile(const TemporaryFolder& folder) {
  SafetensorsWriter writer(folder / "made", {{"w", {DType::kU8, {2000}}}});
  writer.Write("w", AsBytes(std::string(2000, '\1')));
  writer.Finish();
  return ReadFile(folder / "made");
}

TEST(Checkpoint, RecognisesByContentNotExtension) {
  const TemporaryFolder folder;
  const auto torch = OpenCheckpoint(WriteFile(folder / "a.safetensors", SmallTorchFile()));
  EXPECT_EQ(torch->Find("w").shape, (Shape{600}));
  const auto safe = OpenCheckpoint(WriteFile(folder / "b.pt", SmallSafetensorsFile(folder)));
  EXPECT_EQ(safe->Find("w").shape, (Shape{2000}));
  EXPECT_EQ(safe->name(), (folder / "b.pt").string());
}

TEST(Checkpoint, GivesAdviceOnWhatIsNone) {
  const TemporaryFolder folder;
  const auto expect = [&](ErrorCode code, const std::vector<std::string>& parts,
                          const std::string& contents) {
    SCOPED_TRACE(parts[0]);
    const auto path = WriteFile(folder / "model.pt", contents);
    std::vector<std::string> all = parts;
    all.push_back(path.string());
    ExpectError(code, all, [&] { OpenCheckpoint(path); });
  };
  const auto unsupported = [&](const std::vector<std::string>& parts, const std::string& contents) {
    expect(ErrorCode::kUnsupportedFormat, parts, contents);
  };
  const auto corrupt = [&](const std::vector<std::string>& parts, const std::string& contents) {
    expect(ErrorCode::kCorruptFile, parts, contents);
  };
  using namespace std::string_literals;
  unsupported({"Git-LFS pointer", "download"},
              "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4632000000\n");
  unsupported({"web page", "download"}, "\n <!DOCTYPE html>\n<html>");
  unsupported({"web page", "download"}, "<HTML><body>");
  unsupported({"web page", "download"}, "<?xml version='1.0'?><Error>AccessDenied</Error>");
  unsupported({"text file", "'hello, not a model'", "download"}, "hello, not a model\nsecond line");
  unsupported({"text file", "download"}, "{\"a\": {\"b\": 1}}");
  unsupported({"gzip", "unpack"}, "\x1F\x8B\x08\0\0"s);
  unsupported({"GGUF"}, "GGUF\3\0\0\0"s);
  unsupported({"neither", "download"}, "\1\2\3\4\5\6\7\10\11\12");
  unsupported({"neither", "download"}, "\x10");
  unsupported({"legacy format", "re-save"},
              "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.\x80\x02M\xE9\x03."s);
  unsupported({"legacy format", "re-save"}, "storages"s + std::string(249, '\0') + "ustar\0"s);
  unsupported({"bare pickle"}, "\x80\x04}."s);
  corrupt({"empty", "download it again"}, "");
  corrupt({"zeros", "download it again"}, std::string(5000, '\0'));
  corrupt({"18446744073709551615", "download it again"}, std::string(8, '\xFF') + "{\"a\":{}}");
}

TEST(Checkpoint, SaysThatAPartOfAFileIsTruncated) {
  const TemporaryFolder folder;
  for (const std::string& whole : {SmallTorchFile(), SmallSafetensorsFile(folder)}) {
    for (const size_t length : {size_t{40}, whole.size() / 2, whole.size() - 1}) {
      const auto path = WriteFile(folder / "part", whole.substr(0, length));
      ExpectError(ErrorCode::kCorruptFile, {"truncated", "download it again", path.string()},
                  [&] { OpenCheckpoint(path); });
    }
  }
}

TEST(Checkpoint, SaysWhatIsWrongWithThePath) {
  const TemporaryFolder folder;
  ExpectError(ErrorCode::kFileNotFound, {"none.pt"}, [&] { OpenCheckpoint(folder / "none.pt"); });
  ExpectError(ErrorCode::kFileUnreadable, {"is a folder", folder.path().string()},
              [&] { OpenCheckpoint(folder.path()); });
}

}  // namespace
}  // namespace lingbot
