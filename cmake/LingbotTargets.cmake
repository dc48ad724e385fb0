# One static library per folder, one test executable per folder, and one place for compiler flags.

function(lingbot_compile_options target)
  # The host compiler's own flags; nvcc's code goes without them.
  foreach(flag -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
               -ffp-contract=off)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports std::string concatenation falsely (its bug 105651).
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  if(LINGBOT_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  # Contraction is left to the code that asks for it, so that a scalar loop and its vector twin can
  # be compared to the last bit where that is claimed.
  if(LINGBOT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LINGBOT_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${LINGBOT_SANITIZE})
  endif()
endfunction()

# Checks are not what has to be fast: a third of their compile time for nothing.
function(lingbot_test_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports std::string's own copies falsely (its bug 105329), and sees more of them at -O1.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endfunction()

# Headers that many sources read and that take the compiler longest, read once for the build instead of once for every
# source. Sources include what they use all the same: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without.
set(LINGBOT_PRECOMPILED_HEADERS
    <fmt/format.h> <nlohmann/json.hpp> <algorithm> <filesystem> <fstream> <functional> <map> <memory> <optional> <random>
    <span> <sstream> <string> <string_view> <vector>)

# lingbot_use_precompiled_headers(TARGET KIND): KIND is library, program or test. Each kind has a set of its own, as GCC
# takes a precompiled header only where options and position independence are those it was made with.
function(lingbot_use_precompiled_headers target kind)
  set(owner lingbot_${kind}_headers)
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/${owner}.cc)
    file(GENERATE OUTPUT ${source} CONTENT "// Here for its precompiled headers only.\n")
    add_library(${owner} OBJECT ${source})
    target_link_libraries(${owner} PRIVATE fmt::fmt nlohmann_json::nlohmann_json OpenMP::OpenMP_CXX)
    set(headers ${LINGBOT_PRECOMPILED_HEADERS})
    if(kind STREQUAL "test")
      target_link_libraries(${owner} PRIVATE GTest::gtest GTest::gmock)
      list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
    endif()
    if(NOT kind STREQUAL "library")
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE -fPIE)
    endif()
    lingbot_compile_options(${owner})
    if(kind STREQUAL "test")
      lingbot_test_options(${owner})
    endif()
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# Targets whose sources the sanitizer build compiles together (LINGBOT_UNITY): what they all instantiate is instrumented
# once. Their sources share one anonymous namespace there, so names in it differ between files. The others are few
# sources, or kernels and layers whose helpers repeat names on purpose.
set(LINGBOT_UNITY_TARGETS
    lingbot_weights weights_test cache_test lingbot_media media_test lingbot_preprocess preprocess_test
    lingbot_geometry geometry_test engine_test lingbot_output output_test evaluation_test lingbot_cli cli_unit_test cli_test reference_test)
function(lingbot_use_unity target)
  if(LINGBOT_UNITY AND ${target} IN_LIST LINGBOT_UNITY_TARGETS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
endfunction()

# lingbot_library(NAME SOURCES a.cc ... [DEPENDS public...] [PRIVATE_DEPENDS private...])
function(lingbot_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  lingbot_compile_options(${name})
  lingbot_use_precompiled_headers(${name} library)
  lingbot_use_unity(${name})
  set_property(GLOBAL APPEND PROPERTY LINGBOT_FOLDER_LIBRARIES ${name})
endfunction()

# lingbot_test(NAME SOURCES a_test.cc ... DEPENDS libs... [LABELS label...] [TIMEOUT seconds])
function(lingbot_test name)
  if(NOT LINGBOT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE LINGBOT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  lingbot_compile_options(${name})
  lingbot_test_options(${name})
  lingbot_use_precompiled_headers(${name} test)
  lingbot_use_unity(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# lingbot_program(NAME SOURCES a.cc ... DEPENDS libs... [TOOL]): lands in bin/ and is installed. A TOOL is built by the
# sanitizer build only when asked for: its tests run in the release build.
function(lingbot_program name)
  cmake_parse_arguments(ARG "TOOL" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_TOOL AND LINGBOT_SANITIZE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  lingbot_compile_options(${name})
  # A program without the libraries has other options and definitions.
  if(ARG_DEPENDS MATCHES "lingbot_")
    lingbot_use_precompiled_headers(${name} program)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
endfunction()
