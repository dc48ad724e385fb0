#include <lingbot/error.h>
#include <lingbot/options.h>

#include <cstdio>
#include <cstring>

int main() {
  lingbot::SessionOptions options;
  options.keyframe_interval = 3;
  const char* name = lingbot::ErrorCodeName(lingbot::ErrorCode::kShapeMismatch);
  if (std::strcmp(name, "SHAPE_MISMATCH") != 0) {
    std::printf("unexpected name of an error code: %s\n", name);
    return 1;
  }
  std::printf("linked with lingbot: every %d-th frame, %s\n", options.keyframe_interval, name);
  return 0;
}
