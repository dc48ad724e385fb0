#include "weights/torch_test_files.h"

namespace lingbot {
namespace {

std::string Shorts(const std::vector<uint16_t>& values) { return Raw(values); }
std::string Longs(const std::vector<uint64_t>& values) { return Raw(values); }

// From the flags to the length of the name: shared by both kinds of header.
std::string Fields(const ZipWriter::File& file, uint32_t size) {
  return Shorts({file.flags, file.method, 0, 0}) + RawNumber(uint32_t{0}) + RawNumber(size) +
         RawNumber(size) + Shorts({static_cast<uint16_t>(file.name.size())});
}

}  // namespace

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

PickleWriter::PickleWriter(int protocol) : out_("\x80") { out_ += static_cast<char>(protocol); }

PickleWriter& PickleWriter::Op(std::string_view bytes) {
  out_ += bytes;
  return *this;
}

PickleWriter& PickleWriter::Text(std::string_view text) {
  return Op("X").Op(RawNumber(static_cast<uint32_t>(text.size()))).Op(text);
}

PickleWriter& PickleWriter::Int(int64_t value) { return Op("\x8A\x08").Op(RawNumber(value)); }

PickleWriter& PickleWriter::Global(std::string_view module, std::string_view name) {
  return Op("c").Op(module).Op("\n").Op(name).Op("\n");
}

PickleWriter& PickleWriter::Ints(const std::vector<int64_t>& values) {
  Op("(");
  for (const int64_t value : values) Int(value);
  return Op("t");
}

PickleWriter& PickleWriter::EmptyOrderedDict() {
  return Global("collections", "OrderedDict").Op(")R");
}

PickleWriter& PickleWriter::Storage(std::string_view type, std::string_view key, int64_t count) {
  return Op("(").Text("storage").Global("torch", type).Text(key).Text("cpu").Int(count).Op("tQ");
}

PickleWriter& PickleWriter::TensorArguments(const TensorSpec& spec) {
  Storage(spec.storage_type, spec.key, spec.count).Int(spec.offset);
  return Ints(spec.size).Ints(spec.stride).Op("\x89").EmptyOrderedDict();
}

PickleWriter& PickleWriter::Tensor(const TensorSpec& spec) {
  return Global("torch._utils", "_rebuild_tensor_v2").Op("(").TensorArguments(spec).Op("tR");
}

std::string PickleWriter::Stop() { return out_ + "."; }

ZipWriter& ZipWriter::Add(const File& file) {
  files_.push_back(file);
  return *this;
}

ZipWriter& ZipWriter::Add(const std::string& name, const std::string& contents) {
  return Add(File{name, contents});
}

std::string ZipWriter::Write(bool zip64, const std::string& comment) const {
  std::string out, directory;
  for (const File& file : files_) {
    const auto size = static_cast<uint32_t>(file.contents.size());
    const auto header = static_cast<uint32_t>(out.size());
    directory += "PK\x01\x02" + Shorts({45, 45}) + Fields(file, zip64 ? ~0u : size) +
                 Shorts({zip64 ? uint16_t{28} : uint16_t{0}, 0, 0, 0}) + RawNumber(uint32_t{0}) +
                 RawNumber(zip64 ? ~0u : header) + file.name;
    if (zip64) directory += Shorts({1, 24}) + Longs({size, size, header});
    out += "PK\x03\x04" + Shorts({45}) + Fields(file, size) + Shorts({4}) + file.name +
           Shorts({0xBEEF, 0}) + file.contents;
  }
  const uint64_t offset = out.size();
  const auto count = static_cast<uint16_t>(files_.size());
  out += directory;
  const uint64_t end = out.size();
  if (zip64) {
    out += "PK\x06\x06" + Longs({44}) + Shorts({45, 45, 0, 0, 0, 0}) +
           Longs({count, count, directory.size(), offset});
    out += "PK\x06\x07" + RawNumber(uint32_t{0}) + Longs({end}) + RawNumber(uint32_t{1});
  }
  out += "PK\x05\x06" + Shorts({0, 0});
  out += zip64 ? Shorts({0xFFFF, 0xFFFF}) : Shorts({count, count});
  out += RawNumber(zip64 ? ~0u : static_cast<uint32_t>(directory.size()));
  out += RawNumber(zip64 ? ~0u : static_cast<uint32_t>(offset));
  return out + Shorts({static_cast<uint16_t>(comment.size())}) + comment;
}

ZipWriter TorchZip(const std::string& pickle, const std::vector<std::string>& storages) {
  ZipWriter zip;
  zip.Add("archive/data.pkl", pickle).Add("archive/byteorder", "little");
  for (size_t i = 0; i < storages.size(); ++i) {
    zip.Add("archive/data/" + std::to_string(i), storages[i]);
  }
  zip.Add("archive/version", "3\n");
  return zip;
}

}  // namespace lingbot
