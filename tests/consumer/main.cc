// Uses the installed library from the outside: errors, a camera, a model that is not there.

#include <lingbot/camera.h>
#include <lingbot/error.h>
#include <lingbot/model.h>
#include <lingbot/session.h>

#include <cmath>
#include <cstdio>

namespace {

// A quarter turn about the vertical field of view gives a focal length of half the height.
bool CameraWorks() {
  const lingbot::PoseEncoding pose = {1, 2, 3, 0, 0, 0, 1, 1.57079632679f, 1.57079632679f};
  const lingbot::Intrinsics camera = lingbot::IntrinsicsOf(pose, 100, 200);
  return std::abs(camera.fy - 50) < 1e-4 && std::abs(camera.fx - 100) < 1e-4 &&
         lingbot::WorldFromCameraOf(pose).center[2] == 3;
}

bool MissingModelIsReported() {
  try {
    const lingbot::Model model = lingbot::Model::Load("no such file.pt");
    const lingbot::Session session(model, 14, 14);
    return session.memory_plan().total() == 0;
  } catch (const lingbot::Error& error) {
    std::printf("%s: %s\n", lingbot::ErrorCodeName(error.code()), error.what());
    return error.code() == lingbot::ErrorCode::kFileNotFound;
  }
}

}  // namespace

int main() {
  if (!CameraWorks() || !MissingModelIsReported()) return 1;
  std::printf("linked with lingbot\n");
  return 0;
}
