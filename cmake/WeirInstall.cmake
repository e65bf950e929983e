# The library that other programs link, libweir.a and libweir.so, and what installs them: headers,
# find_package(weir), pkg-config weir.
#
# libweir.a is made of the layers' objects as they are. libweir.so needs its own, position
# independent and hidden but for what WEIR_API marks; WHY not for all: the program would be built of
# them too, and would have to be built anew for whoever switches.
#
# Only what the library uses is in it: no sockets, so neither net/ nor store/redis/, and of wire/
# the structured fields and what UTF-8 they need. The linker says so when more is needed.

set(weir_unused "/store/redis/|/wire/(grpc|http1|resp)/|/wire/websocket/[^u]")
foreach(layer base limit wire store policy engine library)
  list(APPEND weir_objects $<FILTER:$<TARGET_OBJECTS:weir_${layer}>,EXCLUDE,${weir_unused}>)
  get_target_property(sources weir_${layer} SOURCES)
  list(APPEND weir_sources ${sources})
endforeach()
list(FILTER weir_sources EXCLUDE REGEX "${weir_unused}")
set(weir_third_party spdlog::spdlog fmt::fmt Threads::Threads date::date-tz yaml-cpp
  tomlplusplus::tomlplusplus PkgConfig::RE2)

# Before 1.0 every minor version may change what programs were linked with.
set(weir_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(weir_excluded EXCLUDE_FROM_ALL)
if(WEIR_LIBRARY)
  set(weir_excluded)
endif()

# weir_library(TARGET KIND EXPORT_NAME SOURCES...)
function(weir_library TARGET KIND EXPORT_NAME)
  add_library(${TARGET} ${KIND} ${weir_excluded} ${ARGN})
  set_target_properties(${TARGET} PROPERTIES OUTPUT_NAME weir EXPORT_NAME ${EXPORT_NAME}
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
    SOVERSION ${weir_soversion})
  target_compile_features(${TARGET} INTERFACE cxx_std_20)
  target_include_directories(${TARGET} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
  target_link_libraries(${TARGET} PRIVATE ${weir_third_party})
  add_library(weir::${EXPORT_NAME} ALIAS ${TARGET})
endfunction()

weir_library(weir_static STATIC static ${weir_objects})
weir_library(weir_shared SHARED shared ${weir_sources})
set_target_properties(weir_shared PROPERTIES CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON)
target_include_directories(weir_shared PRIVATE "${PROJECT_SOURCE_DIR}/src"
  "${PROJECT_BINARY_DIR}/generated")
target_link_libraries(weir_shared PRIVATE Boost::headers)
target_compile_definitions(weir_shared PRIVATE BOOST_ASIO_SEPARATE_COMPILATION
  BOOST_ASIO_NO_DEPRECATED)
target_link_options(weir_shared PRIVATE
  "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/weir.map")
if(NOT WEIR_SANITIZE)
  target_link_options(weir_shared PRIVATE "LINKER:--no-undefined")
endif()
if(BUILD_SHARED_LIBS)
  add_library(weir::weir ALIAS weir_shared)
else()
  add_library(weir::weir ALIAS weir_static)
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(weir_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weir")
foreach(kind static shared)
  install(TARGETS weir_${kind} EXPORT weir_${kind}_targets COMPONENT library
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT library)
  install(EXPORT weir_${kind}_targets NAMESPACE weir:: FILE weir-${kind}.cmake
    DESTINATION "${weir_config_dir}" COMPONENT library)
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weir" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT library)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/weirConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/weirConfig.cmake" INSTALL_DESTINATION "${weir_config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/weirConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/weirConfig.cmake"
  "${PROJECT_BINARY_DIR}/generated/weirConfigVersion.cmake"
  DESTINATION "${weir_config_dir}" COMPONENT library)
# From lib or lib/x86_64-linux-gnu back to the prefix, so that the tree may be moved.
file(RELATIVE_PATH WEIR_LIBDIR_TO_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}" "/p")
configure_file("${PROJECT_SOURCE_DIR}/cmake/weir.pc.in" "${PROJECT_BINARY_DIR}/generated/weir.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/weir.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)
if(WEIR_PROGRAM)
  install(TARGETS weir RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  include(WeirManual)
  include(WeirPackage)
endif()
