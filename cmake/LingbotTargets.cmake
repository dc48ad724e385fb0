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

# lingbot_library(NAME SOURCES a.cc ... [DEPENDS public...] [PRIVATE_DEPENDS private...])
function(lingbot_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  lingbot_compile_options(${name})
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
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# lingbot_program(NAME SOURCES a.cc ... DEPENDS libs...): lands in bin/ and is installed.
function(lingbot_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  lingbot_compile_options(${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
