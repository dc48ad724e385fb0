# Everything here is a Debian/Ubuntu package; scripts/setup.sh installs them, docs/dependencies.md says why each.
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
# Not find_package(dnnl 2.6): its version file accepts one major version only, and 3.x serves as well.
find_package(dnnl REQUIRED CONFIG)
if(dnnl_VERSION VERSION_LESS 2.6)
  message(FATAL_ERROR "oneDNN ${dnnl_VERSION} in ${dnnl_DIR} is too old: 2.6 or later is needed; "
                      "build a newer one and name its prefix in CMAKE_PREFIX_PATH")
endif()
find_package(nlohmann_json REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(TIFF REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(EXIF REQUIRED IMPORTED_TARGET libexif)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)

# FFmpeg reads videos; without it the program maps images only.
set(LINGBOT_VIDEO AUTO CACHE STRING "Read videos with FFmpeg: AUTO, ON or OFF")
set_property(CACHE LINGBOT_VIDEO PROPERTY STRINGS AUTO ON OFF)
set(LINGBOT_HAVE_VIDEO FALSE)
if(NOT LINGBOT_VIDEO STREQUAL "OFF")
  # The versions are those of FFmpeg 4.4.
  pkg_check_modules(FFMPEG IMPORTED_TARGET
    libavformat>=58.76 libavcodec>=58.134 libavutil>=56.70 libswscale>=5.9)
  if(FFMPEG_FOUND)
    set(LINGBOT_HAVE_VIDEO TRUE)
    pkg_check_modules(AVDEVICE IMPORTED_TARGET libavdevice>=58.13)  # cameras
  elseif(LINGBOT_VIDEO STREQUAL "AUTO")
    message(STATUS "FFmpeg 4.4 or later was not found: videos will not be read")
  else()
    message(FATAL_ERROR "LINGBOT_VIDEO is ON, but FFmpeg 4.4 or later (libavformat, libavcodec, libavutil, libswscale) "
                        "was not found: run scripts/setup.sh, or set LINGBOT_VIDEO=OFF")
  endif()
endif()

if(LINGBOT_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED CONFIG)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(LINGBOT_BUILD_TOOLS)
  find_package(benchmark REQUIRED)
endif()
