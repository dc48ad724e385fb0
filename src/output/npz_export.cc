#include <zlib.h>

#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/file_mapping.h"
#include "geometry/pose.h"
#include "output/buffered_file.h"
#include "output/export_camera.h"
#include "output/exporter.h"
#include "output/npy.h"
#include "output/run_folder.h"

// NumPy's archives are zip files of NPY members; these are stored, not compressed
// (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, sections 4.3.7, 4.3.12, 4.3.16).

namespace lingbot {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLocalHeader = 0x04034B50, kCentralHeader = 0x02014B50, kEnd = 0x06054B50;
constexpr uint16_t kVersion = 20;
constexpr uint16_t kFirstDay = 0x21;  // 1 January 1980: the same frame gives the same file
constexpr size_t kEndBytes = 22;

struct Member {
  std::string name;
  std::string header;  // of the NPY file
  const void* data;
  size_t bytes;
  uint32_t checksum = 0;
  uint32_t offset = 0;
  uint32_t size() const { return static_cast<uint32_t>(header.size() + bytes); }
};

uint32_t ChecksumOf(const Member& member) {
  uLong sum =
      crc32_z(0, reinterpret_cast<const Bytef*>(member.header.data()), member.header.size());
  sum = crc32_z(sum, static_cast<const Bytef*>(member.data), member.bytes);
  return static_cast<uint32_t>(sum);
}

// What local and central headers have in common, from the version to the length of the name.
void WriteCommon(const Member& member, BufferedFile* file) {
  for (const uint16_t field : {kVersion, uint16_t{0}, uint16_t{0}, uint16_t{0}, kFirstDay}) {
    file->WriteRaw(field);
  }
  for (const uint32_t field : {member.checksum, member.size(), member.size()}) {
    file->WriteRaw(field);
  }
  file->WriteRaw(static_cast<uint16_t>(member.name.size()));
  file->WriteRaw(uint16_t{0});  // no extra field
}

void WriteCentral(const Member& member, BufferedFile* file) {
  file->WriteRaw(kCentralHeader);
  file->WriteRaw(kVersion);
  WriteCommon(member, file);
  for (int i = 0; i < 3; ++i) file->WriteRaw(uint16_t{0});  // comment, disk, attributes
  file->WriteRaw(uint32_t{0});
  file->WriteRaw(member.offset);
  file->Write(member.name);
}

void WriteZip(const fs::path& path, std::vector<Member> members) {
  uint64_t total = kEndBytes;
  for (Member& member : members) {
    member.checksum = ChecksumOf(member);
    total += 30 + 46 + 2 * member.name.size() + member.header.size() + member.bytes;
  }
  Check(total < (uint64_t{1} << 32), ErrorCode::kInvalidArgument,
        "{} would take {} bytes, but holds 4 GiB at most; write depth and confidence instead",
        path.string(), total);
  BufferedFile file(path);
  uint32_t offset = 0;
  uint32_t central = 0;
  for (Member& member : members) {
    member.offset = offset;
    file.WriteRaw(kLocalHeader);
    WriteCommon(member, &file);
    file.Write(member.name);
    file.Write(member.header);
    file.Write(member.data, member.bytes);
    offset += static_cast<uint32_t>(30 + member.name.size()) + member.size();
    central += static_cast<uint32_t>(46 + member.name.size());
  }
  for (const Member& member : members) WriteCentral(member, &file);
  const auto count = static_cast<uint16_t>(members.size());
  file.WriteRaw(kEnd);
  for (const uint16_t field : {uint16_t{0}, uint16_t{0}, count, count}) file.WriteRaw(field);
  file.WriteRaw(central);
  file.WriteRaw(offset);
  file.WriteRaw(uint16_t{0});
  file.Commit();
  const FileMapping mapping(path);
  uint32_t end = 0;
  if (mapping.bytes().size() == total) {
    std::memcpy(&end, mapping.bytes().data() + total - kEndBytes, sizeof(end));
  }
  Check(end == kEnd, ErrorCode::kFileUnwritable,
        "{} was written but is no archive when opened again", path.string());
}

constexpr char kConventions[] =
    "depth: float32 along the optical axis, what is not positive is unknown; confidence: at least "
    "1, "
    "larger is better; intrinsics: 3x3, of these maps, pixel centres at whole numbers; "
    "intrinsics_original: likewise, of the upright source image (NaN if unknown); "
    "world_from_camera: "
    "4x4, camera-to-world, OpenCV axes x right, y down, z forward; timestamp: seconds; scale is "
    "relative, not metres";

std::array<double, 9> MatrixOf(const Intrinsics& k) {
  return {k.fx, 0, k.cx, 0, k.fy, k.cy, 0, 0, 1};
}

class NpzExporter : public Exporter {
 public:
  explicit NpzExporter(const fs::path& folder) : folder_(folder / kNpzFolder) {
    CreateFolder(folder_);
  }

  void AddFrame(const FrameRecord& record) override {
    const Intrinsics k = IntrinsicsOf(record.pose, record.height, record.width);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const bool known = IsUsableMapping(record.mapping);
    const auto resized = MatrixOf(k);
    const auto original =
        MatrixOf(known ? OriginalIntrinsics(k, record.mapping) : Intrinsics{nan, nan, nan, nan});
    const WorldFromCamera pose = WorldFromCameraOf(record.pose);
    std::array<double, 16> matrix = {};
    for (size_t row = 0; row < 3; ++row) {
      std::copy_n(&pose.rotation[3 * row], 3, &matrix[4 * row]);
      matrix[4 * row + 3] = pose.center[row];
    }
    matrix[15] = 1;
    const auto text = [](const char* characters) {
      return fmt::format("|S{}", std::strlen(characters));
    };
    const int64_t height = record.height;
    const int64_t width = record.width;
    std::vector<Member> members;
    const auto add = [&](const char* name, const std::string& type,
                         const std::vector<int64_t>& shape, const void* data, size_t bytes) {
      members.push_back({fmt::format("{}.npy", name), NpyHeader(type, shape), data, bytes});
    };
    add("depth", "<f4", {height, width}, record.depth.data(), record.depth.size_bytes());
    add("confidence", "<f4", {height, width}, record.confidence.data(),
        record.confidence.size_bytes());
    add("intrinsics", "<f8", {3, 3}, resized.data(), sizeof(resized));
    add("intrinsics_original", "<f8", {3, 3}, original.data(), sizeof(original));
    add("world_from_camera", "<f8", {4, 4}, matrix.data(), sizeof(matrix));
    add("timestamp", "<f8", {}, &record.timestamp, sizeof(double));
    add("index", "<i8", {}, &record.index, sizeof(int64_t));
    add("conventions", text(kConventions), {}, kConventions, std::strlen(kConventions));
    WriteZip(folder_ / fmt::format("{:06}.npz", record.index), std::move(members));
  }

  std::vector<std::string> Finish(const PointCloud&) override { return {kNpzFolder}; }

 private:
  fs::path folder_;
};

}  // namespace

std::unique_ptr<Exporter> MakeNpzExporter(const fs::path& folder) {
  return std::make_unique<NpzExporter>(folder);
}

}  // namespace lingbot
