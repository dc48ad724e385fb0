#ifndef LINGBOT_MEDIA_FRAME_SOURCE_H_
#define LINGBOT_MEDIA_FRAME_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_team.h"
#include "lingbot/error.h"
#include "media/image.h"

namespace lingbot {

// What is known of a frame before it is decoded.
struct FrameInfo {
  std::string name;
  int64_t source_index = 0;
  ImageSize size;  // upright
};

// Frames of a video, a folder or a camera, one after the other. Only one is decoded at a time.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // Looks at the input before any work is done, to be called before the first Next: returns what is
  // known of every frame that Next will deliver or, where that takes decoding, of the first alone.
  virtual std::vector<FrameInfo> Verify(const ThreadTeam& team) = 0;

  // How many frames there are in all, as far as is known by now; nothing for a live stream.
  virtual std::optional<int64_t> frame_count() const = 0;

  // Decodes the next frame into `image`, whose memory may be reused; false at the end. After an
  // exception the source stands behind the bad frame: the caller may go on or stop, with all
  // earlier frames intact.
  virtual bool Next(Image* image) = 0;

  // Passes over the frames up to the one of this source_index, which increases from frame to frame:
  // Next gives what it would have given after it. Asks `stop` now and then and gives up when it
  // says so. Throws as Next.
  virtual void SkipThrough(int64_t source_index, const std::function<bool()>& stop);

  // Frames come as they are made and never again.
  virtual bool live() const { return false; }

  // One line for the user: what the input is and which part of it is used; "" = nothing to say.
  virtual std::string description() const { return {}; }

  // One line: what could not be used so far; "" = nothing.
  virtual std::string problems() const { return {}; }

  // From any thread: a call that waits for a camera or a network gives up, as if the input ended.
  virtual void Cancel() {}
};

struct ImageFolderOptions {
  int64_t stride = 1;      // every stride-th image of the sorted folder, from the first
  int64_t max_frames = 0;  // at most so many of these; 0 = all. Bad ones that are skipped count
  bool skip_bad =
      false;  // leave out images that cannot be read, with a line to `log`, instead of failing
  double frames_per_second = 1;  // gives Image::timestamp
  DecodeOptions decode;
  std::function<void(const std::string&)> log;  // one line each, without a line feed
};

// The images of a folder, in natural order (frame_2 before frame_10), or a single file.
//
// In a folder files count by their extension (.jpg .jpeg .png .webp .tif .tiff .bmp, any case) and
// are then recognised by content; other files, hidden files and subfolders are ignored. A dangling
// or looping link with such an extension is a bad image, not an ignored one. source_index numbers
// the sorted folder from 0, whatever stride and skipping leave out.
class ImageFolderSource : public FrameSource {
 public:
  // Lists the folder; opens no image. Throws kFileNotFound (no such path), kFileUnreadable (no
  // permission, or neither file nor folder), kNoInput (no image in the folder, saying what was
  // looked for and what was found), kInvalidArgument (options).
  ImageFolderSource(const std::filesystem::path& path, ImageFolderOptions options);

  // Given files, at least one, in natural order of their names; `label` stands for all of them.
  ImageFolderSource(std::vector<std::filesystem::path> files, const std::filesystem::path& label,
                    ImageFolderOptions options);

  // Reads every image once and checks its structure as InspectImage does, so that a damaged one is
  // known before any work is done. Returns the frames that Next will deliver, with their sizes. If
  // some are bad: with skip_bad logs and drops them (kNoInput if none is left), else throws the
  // first one's error, naming it and how many more there are. To be called before the first Next.
  std::vector<FrameInfo> Verify(const ThreadTeam& team) override;

  std::optional<int64_t> frame_count() const override;
  bool Next(Image* image) override;
  // Opens none of the files.
  void SkipThrough(int64_t source_index, const std::function<bool()>& stop) override;

 private:
  struct Entry {
    std::filesystem::path path;
    int64_t source_index;
  };

  void SortAndChoose(std::vector<std::filesystem::path> images);
  FrameInfo Inspect(const Entry& entry) const;
  // problems, frames: one per entry. Throws, or drops the entries and frames that have a problem.
  void HandleBad(const std::vector<std::optional<Error>>& problems, std::vector<FrameInfo>* frames);
  void LogSkipped(const Entry& entry, const Error& error) const;
  void Log(const std::string& line) const;

  std::filesystem::path path_;
  ImageFolderOptions options_;
  std::vector<Entry> entries_;
  size_t next_ = 0;
  int64_t skipped_ = 0;           // by Next
  std::vector<std::byte> bytes_;  // of the current file
};

}  // namespace lingbot

#endif  // LINGBOT_MEDIA_FRAME_SOURCE_H_
