#include <cstring>
#include <fstream>

#include "base/check.h"
#include "base/file_mapping.h"
#include "output/buffered_file.h"
#include "output/colmap_model.h"
#include "output/exporter.h"
#include "output/run_folder.h"

// The files of a COLMAP model (https://colmap.github.io/format.html).

namespace lingbot {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kPinhole = 1;  // COLMAP's number of the camera model
// Points were made of the pixel that saw them, so that it sees them exactly there.
constexpr double kError = 0;

class ColmapExporter : public Exporter {
 public:
  explicit ColmapExporter(const fs::path& folder) : folder_(folder / kColmapFolder) {
    CreateFolder(folder_);
  }
  void AddFrame(const FrameRecord& record) override { model_.AddFrame(record); }

 protected:
  fs::path Path(const std::string& name) const { return folder_ / name; }
  static std::vector<std::string> Names(const char* extension) {
    std::vector<std::string> names;
    for (const char* stem : {"cameras", "images", "points3D"}) {
      names.push_back(fmt::format("{}/{}.{}", kColmapFolder, stem, extension));
    }
    return names;
  }

  fs::path folder_;
  ColmapModel model_;
};

class ColmapTextExporter : public ColmapExporter {
 public:
  using ColmapExporter::ColmapExporter;

  std::vector<std::string> Finish(const PointCloud& cloud) override {
    model_.SetPoints(cloud);
    WriteCameras();
    WriteImages();
    WritePoints();
    CheckLines("cameras.txt", model_.images().size());
    CheckLines("images.txt", 2 * model_.images().size());
    CheckLines("points3D.txt", model_.point_count());
    return Names("txt");
  }

 private:
  void WriteCameras() const {
    BufferedFile file(Path("cameras.txt"));
    file.Write(
        "# CAMERA_ID MODEL WIDTH HEIGHT fx fy cx cy: of the images in images/; pixel centres at "
        "half integers, one camera for each image\n");
    size_t id = 0;
    for (const ColmapImage& image : model_.images()) {
      const double* p = image.parameters;
      file.Print("{} PINHOLE {} {} {:.17g} {:.17g} {:.17g} {:.17g}\n", ++id, image.width,
                 image.height, p[0], p[1], p[2], p[3]);
    }
    file.Commit();
  }

  void WriteImages() const {
    BufferedFile file(Path("images.txt"));
    file.Write(
        "# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME: camera_from_world (world-to-camera), axes "
        "x right, y down, z forward; scale is relative\n"
        "# POINTS2D[] as X Y POINT3D_ID: pixel centres at half integers\n");
    size_t id = 0;
    for (const ColmapImage& image : model_.images()) {
      const double* q = image.quaternion;
      const double* t = image.translation;
      ++id;
      file.Print("{} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {} {}\n", id, q[0],
                 q[1], q[2], q[3], t[0], t[1], t[2], id, image.name);
      const char* separator = "";
      for (const uint32_t point : model_.Observed(image)) {
        const auto [x, y] = model_.PixelOf(point);
        file.Print("{}{} {} {}", separator, x, y, uint64_t{point} + 1);
        separator = " ";
      }
      file.Write("\n");
    }
    file.Commit();
  }

  void WritePoints() const {
    BufferedFile file(Path("points3D.txt"));
    file.Write(
        "# POINT3D_ID X Y Z R G B ERROR TRACK[] as IMAGE_ID POINT2D_IDX: world coordinates, OpenCV "
        "axes (y down), scale is relative; each point was seen by the pixel that it was made of\n");
    const auto& points = model_.cloud().points;
    for (uint32_t i = 0; i < points.size(); ++i) {
      if (!model_.HasTrack(i)) continue;
      const ColoredPoint& p = points[i];
      const ColmapModel::Track& track = model_.TrackOf(i);
      file.Print("{} {:.9g} {:.9g} {:.9g} {} {} {} {} {} {}\n", uint64_t{i} + 1, p.x, p.y, p.z,
                 p.red, p.green, p.blue, kError, track.image, track.position);
    }
    file.Commit();
  }

  // Of images.txt, every second line may be empty.
  void CheckLines(const char* name, size_t expected) const {
    std::ifstream file(Path(name));
    size_t lines = 0;
    for (std::string line; std::getline(file, line);) lines += line.empty() || line[0] != '#';
    Check(lines == expected, ErrorCode::kFileUnwritable,
          "{} was written with {} lines but holds {} when opened again", Path(name).string(),
          expected, lines);
  }
};

class ColmapBinExporter : public ColmapExporter {
 public:
  using ColmapExporter::ColmapExporter;

  std::vector<std::string> Finish(const PointCloud& cloud) override {
    model_.SetPoints(cloud);
    const uint64_t images = model_.images().size();
    WriteCameras();
    WriteImages();
    WritePoints();
    CheckFile("cameras.bin", images, 8 + images * (4 + 4 + 8 + 8 + 4 * 8));
    uint64_t names = 0;
    for (const ColmapImage& image : model_.images()) names += image.name.size() + 1;
    const uint64_t points = model_.point_count();
    CheckFile("images.bin", images, 8 + images * (4 + 7 * 8 + 4 + 8) + names + points * 3 * 8);
    CheckFile("points3D.bin", points, 8 + points * (8 + 3 * 8 + 3 + 8 + 8 + 2 * 4));
    return Names("bin");
  }

 private:
  void WriteCameras() const {
    BufferedFile file(Path("cameras.bin"));
    file.WriteRaw(uint64_t{model_.images().size()});
    uint32_t id = 0;
    for (const ColmapImage& image : model_.images()) {
      file.WriteRaw(++id);
      file.WriteRaw(kPinhole);
      file.WriteRaw(static_cast<uint64_t>(image.width));
      file.WriteRaw(static_cast<uint64_t>(image.height));
      file.Write(image.parameters, sizeof(image.parameters));
    }
    file.Commit();
  }

  void WriteImages() const {
    BufferedFile file(Path("images.bin"));
    file.WriteRaw(uint64_t{model_.images().size()});
    uint32_t id = 0;
    for (const ColmapImage& image : model_.images()) {
      file.WriteRaw(++id);
      file.Write(image.quaternion, sizeof(image.quaternion));
      file.Write(image.translation, sizeof(image.translation));
      file.WriteRaw(id);
      file.Write(image.name.c_str(), image.name.size() + 1);
      const auto observed = model_.Observed(image);
      file.WriteRaw(uint64_t{observed.size()});
      for (const uint32_t point : observed) {
        const auto [x, y] = model_.PixelOf(point);
        file.WriteRaw(x);
        file.WriteRaw(y);
        file.WriteRaw(uint64_t{point} + 1);
      }
    }
    file.Commit();
  }

  void WritePoints() const {
    BufferedFile file(Path("points3D.bin"));
    file.WriteRaw(uint64_t{model_.point_count()});
    const auto& points = model_.cloud().points;
    for (uint32_t i = 0; i < points.size(); ++i) {
      if (!model_.HasTrack(i)) continue;
      const ColoredPoint& p = points[i];
      file.WriteRaw(uint64_t{i} + 1);
      for (const double value : {p.x, p.y, p.z}) file.WriteRaw(value);
      for (const uint8_t value : {p.red, p.green, p.blue}) file.WriteRaw(value);
      file.WriteRaw(kError);
      file.WriteRaw(uint64_t{1});
      file.WriteRaw(model_.TrackOf(i).image);
      file.WriteRaw(model_.TrackOf(i).position);
    }
    file.Commit();
  }

  void CheckFile(const char* name, uint64_t count, uint64_t bytes) const {
    const FileMapping mapping(Path(name));
    uint64_t found = 0;
    if (mapping.bytes().size() >= sizeof(found)) {
      std::memcpy(&found, mapping.bytes().data(), sizeof(found));
    }
    Check(mapping.bytes().size() == bytes && found == count, ErrorCode::kFileUnwritable,
          "{} was written with {} entries in {} bytes but holds {} in {} when opened again",
          Path(name).string(), count, bytes, found, mapping.bytes().size());
  }
};

}  // namespace

std::unique_ptr<Exporter> MakeColmapTextExporter(const fs::path& folder) {
  return std::make_unique<ColmapTextExporter>(folder);
}

std::unique_ptr<Exporter> MakeColmapBinExporter(const fs::path& folder) {
  return std::make_unique<ColmapBinExporter>(folder);
}

}  // namespace lingbot
