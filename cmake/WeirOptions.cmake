# Compiler flags and third-party packages, in one place.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND NOT WEIR_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -fno-omit-frame-pointer)
if(WEIR_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # gcc 12 sees overlaps in std::string's operator+ at -O3
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-mcx16)  # 16-byte compare-and-swap, in every x86-64 made since 2006
endif()
# WHY: where a hot function begins within a cache line decides, by luck of what stands before it,
# between 60 and 110 ns a keyed check.
add_compile_options($<$<CONFIG:Release>:-falign-functions=64>)
set(WEIR_TEST_SECONDS 300)  # that one entry of ctest may take
if(WEIR_SANITIZE)
  set(WEIR_TEST_SECONDS 900)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  if(WEIR_SANITIZE MATCHES "undefined")
    # WHY: to look at an object's class it opens a pipe, and takes one that it cannot open for an
    # object that is none. Tests run out of descriptors on purpose.
    add_compile_options(-fno-sanitize=vptr)
  endif()
  if(WEIR_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # Asio's fences: gcc says that it cannot model them
  endif()
endif()
if(WEIR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(WEIR_TEST_HOOKS)
  add_compile_definitions(WEIR_TEST_HOOKS=1)
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(spdlog REQUIRED)
find_package(date REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
if(WEIR_PROGRAM)
  find_package(CLI11 REQUIRED)
  pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
  pkg_check_modules(JWT REQUIRED IMPORTED_TARGET libjwt)
endif()
