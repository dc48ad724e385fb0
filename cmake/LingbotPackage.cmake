# The library that other projects link: lingbot::map, one shared library made of the folders behind the public API.
# Shared, so that a consumer needs none of our private dependencies at build time. Programs of this project link the
# folders directly.

# What the program adds around the library; no public header speaks of it.
set(LINGBOT_PROGRAM_FOLDERS media output evaluation server cli tools)

function(lingbot_public_folder_libraries result)
  get_property(libraries GLOBAL PROPERTY LINGBOT_FOLDER_LIBRARIES)
  set(public)
  foreach(library IN LISTS libraries)
    get_target_property(source_dir ${library} SOURCE_DIR)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${source_dir})
    string(REGEX REPLACE "/.*" "" folder "${folder}")
    if(NOT folder IN_LIST LINGBOT_PROGRAM_FOLDERS)
      list(APPEND public ${library})
    endif()
  endforeach()
  set(${result} ${public} PARENT_SCOPE)
endfunction()

function(lingbot_add_shared_library)
  lingbot_public_folder_libraries(libraries)
  # Every object goes in, not only those that something refers to; linking the archives after them adds no code
  # but brings the third-party libraries along.
  set(objects)
  foreach(library IN LISTS libraries)
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_library(lingbot_map SHARED ${objects})
  add_library(lingbot::map ALIAS lingbot_map)
  target_link_libraries(lingbot_map PRIVATE ${libraries})
  target_include_directories(lingbot_map INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(lingbot_map INTERFACE cxx_std_20)
  if(LINGBOT_SANITIZE)
    target_link_options(lingbot_map PRIVATE -fsanitize=${LINGBOT_SANITIZE})
  else()
    target_link_options(lingbot_map PRIVATE -Wl,--no-undefined)
  endif()
  # Before 1.0 any minor version may change the binary interface.
  set_target_properties(lingbot_map PROPERTIES
    OUTPUT_NAME lingbot EXPORT_NAME map LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

function(lingbot_install_package)
  include(CMakePackageConfigHelpers)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lingbot)
  install(TARGETS lingbot_map EXPORT lingbotTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lingbot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
  install(EXPORT lingbotTargets NAMESPACE lingbot:: DESTINATION ${package_dir})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lingbotConfig.cmake.in
    ${PROJECT_BINARY_DIR}/lingbotConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/lingbotConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/lingbotConfig.cmake ${PROJECT_BINARY_DIR}/lingbotConfigVersion.cmake
    DESTINATION ${package_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()

lingbot_add_shared_library()
lingbot_install_package()
