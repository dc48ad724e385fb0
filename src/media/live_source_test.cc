// Streams from a pipe, from a server in this process, and from FFmpeg's virtual camera.

#include "media/live_source.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "media/open_source.h"
#include "media/test_images.h"
#include "media/test_pipe.h"
#include "media/test_videos.h"

namespace lingbot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_images::Catch;
using testing_images::Thrown;
using testing_pipe::Pipe;
using testing_videos::VideoSpec;

// The bytes of a small clip.
std::string Bytes(const VideoSpec& spec) {
  std::string path = (fs::temp_directory_path() / "lingbot-live-XXXXXX").string();
  const int file = ::mkstemp(path.data());
  if (file >= 0) ::close(file);
  testing_videos::WriteVideo(path, spec);
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  fs::remove(path);
  return bytes;
}

VideoSpec Mjpeg(int frames) {
  VideoSpec spec;
  spec.codec = "mjpeg";
  spec.pixel_format = "yuvj420p";
  spec.full_range = true;
  spec.container = "mjpeg";
  spec.frames = frames;
  return spec;
}

VideoSpec Transport(int frames) {
  VideoSpec spec;
  spec.container = "mpegts";
  spec.frames = frames;
  return spec;
}

LiveOptions Impatient() {
  LiveOptions options;
  options.timeout = 0.3;
  options.reconnect_pause = 0.01;
  return options;
}

LiveInput FromPipe(const Pipe& pipe, const std::string& format) {
  LiveInput input;
  input.kind = LiveInput::Kind::kDescriptor;
  input.descriptor = pipe.reader();
  input.format = format;
  input.label = "pipe";
  return input;
}

int CountFrames(FrameSource* source) {
  Image image;
  int frames = 0;
  double last = -1;
  while (source->Next(&image)) {
    EXPECT_GT(image.timestamp, last);
    EXPECT_EQ(image.width, 64);
    EXPECT_EQ(image.height, 48);
    last = image.timestamp;
    ++frames;
  }
  return frames;
}

TEST(LiveSource, ReadsMotionJpegFromAPipe) {
  Pipe pipe;
  pipe.Write(Bytes(Mjpeg(6)));
  pipe.CloseWriter();
  LiveOptions options = Impatient();
  options.rate = 5;
  LiveSource source(FromPipe(pipe, "mjpeg"), options);
  EXPECT_EQ(source.Verify(ThreadTeam(1))[0].size, (ImageSize{64, 48}));
  EXPECT_EQ(source.frame_count(), std::nullopt);
  EXPECT_THAT(source.description(), HasSubstr("pipe: mjpeg 64x48, of unknown length"));
  EXPECT_EQ(CountFrames(&source), 6);
  EXPECT_EQ(source.problems(), "");
}

TEST(LiveSource, RecognisesAContainerInAPipe) {
  Pipe pipe;
  pipe.Write(Bytes(Transport(12)));
  pipe.CloseWriter();
  LiveSource source(FromPipe(pipe, ""), Impatient());
  source.Verify(ThreadTeam(1));
  EXPECT_EQ(CountFrames(&source), 12);
}

TEST(LiveSource, RefusesAPipeOfSomethingElse) {
  Pipe pipe;
  pipe.Write("this is no video at all, and it goes on for a while\n");
  pipe.CloseWriter();
  LiveSource source(FromPipe(pipe, ""), Impatient());
  EXPECT_THAT(Catch([&] { source.Verify(ThreadTeam(1)); }).message,
              HasSubstr("pipe: not a video that can be read"));
}

TEST(LiveSource, GivesUpOnASilentPipe) {
  Pipe pipe;
  pipe.Write(Bytes(Mjpeg(6)));
  LiveSource source(FromPipe(pipe, "mjpeg"), Impatient());
  const Thrown thrown = Catch([&] { CountFrames(&source); });
  EXPECT_EQ(thrown.code, ErrorCode::kFileUnreadable);
  EXPECT_THAT(thrown.message, HasSubstr("pipe: nothing came for 0.3 s after 6 frames"));
}

TEST(LiveSource, EndsWhenCancelled) {
  Pipe pipe;
  pipe.Write(Bytes(Mjpeg(6)));
  LiveOptions options = Impatient();
  options.timeout = 0;
  LiveSource source(FromPipe(pipe, "mjpeg"), options);
  Image image;
  ASSERT_TRUE(source.Next(&image));
  source.Cancel();
  while (source.Next(&image)) {
  }
}

TEST(LiveSource, ReadsAVirtualCamera) {
  LiveInput input;
  input.kind = LiveInput::Kind::kDevice;
  input.format = "lavfi";
  input.address = "testsrc=size=64x48:rate=25:duration=1";
  input.label = "camera";
  LiveSource source(input, Impatient());
  try {
    source.Verify(ThreadTeam(1));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    GTEST_SKIP() << "this build has no libavdevice";
  }
  EXPECT_EQ(CountFrames(&source), 25);
}

// Serves one answer to each connection in turn, on a port of its own.
class Server {
 public:
  enum class End { kClose, kReset, kSilence };
  struct Answer {
    std::string body;
    End end = End::kClose;
    bool with_length = false;
  };

  explicit Server(std::vector<Answer> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 4) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("no local server");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int connection : silent_) ::close(connection);
    ::close(listener_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  LiveInput input() const {
    LiveInput input;
    input.address = "http://127.0.0.1:" + std::to_string(port_) + "/clip";
    input.label = "stream";
    return input;
  }

 private:
  void Serve() {
    for (const Answer& answer : answers_) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      char request[4096];
      (void)!::read(connection, request, sizeof(request));
      std::string text = "HTTP/1.0 200 OK\r\nConnection: close\r\n";
      if (answer.with_length) {
        text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
      }
      text += "\r\n" + answer.body;
      (void)!::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
      if (answer.end == End::kSilence) {
        silent_.push_back(connection);
        continue;
      }
      if (answer.end == End::kReset) {
        // What was sent is still read before the reset is seen only if there is time for it.
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        const linger now = {1, 0};
        ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
      }
      ::close(connection);
    }
  }

  std::vector<Answer> answers_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<int> silent_;
  std::thread thread_;
};

TEST(LiveSource, ReadsANetworkStreamToItsEnd) {
  const Server server({{Bytes(Transport(20)), Server::End::kClose}});
  LiveSource source(server.input(), Impatient());
  source.Verify(ThreadTeam(1));
  EXPECT_EQ(CountFrames(&source), 20);
  EXPECT_EQ(source.problems(), "");
}

TEST(LiveSource, ConnectsAgainAfterSilence) {
  const Server server(
      {{Bytes(Transport(20)), Server::End::kSilence}, {Bytes(Transport(15)), Server::End::kClose}});
  LiveOptions options = Impatient();
  std::vector<std::string> log;
  options.log = [&](const std::string& line) { log.push_back(line); };
  LiveSource source(server.input(), options);
  source.Verify(ThreadTeam(1));
  EXPECT_EQ(CountFrames(&source), 35);
  EXPECT_THAT(source.problems(), HasSubstr("stream: the connection was lost 1 times"));
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("nothing came for 0.3 s; connecting again (1 of 3)"));
}

TEST(LiveSource, ConnectsAgainAfterAReset) {
  const Server server(
      {{Bytes(Transport(20)), Server::End::kReset}, {Bytes(Transport(15)), Server::End::kClose}});
  LiveSource source(server.input(), Impatient());
  source.Verify(ThreadTeam(1));
  EXPECT_GT(CountFrames(&source), 15);
  EXPECT_THAT(source.problems(), HasSubstr("the connection was lost 1 times"));
}

TEST(LiveSource, GivesUpWithAReason) {
  LiveInput input;
  {
    const Server server({{Bytes(Transport(20)), Server::End::kSilence}});
    LiveOptions options = Impatient();
    options.reconnects = 0;
    LiveSource source(server.input(), options);
    source.Verify(ThreadTeam(1));
    const Thrown thrown = Catch([&] { CountFrames(&source); });
    EXPECT_EQ(thrown.code, ErrorCode::kFileUnreadable);
    EXPECT_THAT(thrown.message, HasSubstr("stream: nothing came for 0.3 s after 20 frames"));
    input = server.input();
  }
  LiveSource nobody(input, Impatient());
  const Thrown thrown = Catch([&] { nobody.Verify(ThreadTeam(1)); });
  EXPECT_EQ(thrown.code, ErrorCode::kFileUnreadable);
  EXPECT_THAT(thrown.message, HasSubstr("cannot open stream: Connection refused"));
}

// A server cannot make the program open files or other kinds of address.
TEST(LiveSource, FollowsNoPlayLists) {
  const Server server({{"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n",
                        Server::End::kClose}});
  LiveSource source(server.input(), Impatient());
  EXPECT_THAT(Catch([&] { source.Verify(ThreadTeam(1)); }).message,
              HasSubstr("cannot open stream"));
}

TEST(OpenSource, KnowsWhatCannotBeOpened) {
  const SourceOptions options;
  const auto message = [&](const std::string& input) {
    return Catch([&] { OpenSource(input, options)->Verify(ThreadTeam(1)); }).message;
  };
  EXPECT_THAT(message("file:///etc/passwd"), HasSubstr("not an address that is read"));
  EXPECT_THAT(message("concat://a|b"), HasSubstr("not an address that is read"));
  EXPECT_THAT(message("/dev/video77"), HasSubstr("cannot open the camera /dev/video77"));
  EXPECT_THAT(message("/dev/null"), HasSubstr("cannot open /dev/null"));
  EXPECT_THAT(message("/nowhere/*.jpg"), HasSubstr("no file matches the pattern /nowhere/*.jpg"));
}

TEST(OpenSource, HidesPasswords) {
  EXPECT_EQ(InputLabel("rtsp://me:secret@host:554/a@b"), "rtsp://***@host:554/a@b");
  EXPECT_EQ(InputLabel("http://host/a@b"), "http://host/a@b");
  EXPECT_EQ(InputLabel("folder/me@home.mp4"), "folder/me@home.mp4");
}

}  // namespace
}  // namespace lingbot
