# weir_layer(NAME [DIR dir] [DEPS layer...] [LIBS library...])
#
# One layer (or one sibling of a layer) is one static library, weir_NAME, made of every *.cc in
# its folder but the *_test.cc, which become one test program beside it, weir_NAME_test. A layer
# links only what DEPS names, so that the linker proves the order of the layers;
# tools/check_layers.py proves it for the includes.
function(weir_layer NAME)
  cmake_parse_arguments(ARG "" "DIR" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  if(NOT ARG_DIR)
    set(ARG_DIR ${NAME})
  endif()
  set(root "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIR}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${root}/*.cc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")

  list(TRANSFORM ARG_DEPS PREPEND "weir_" OUTPUT_VARIABLE deps)
  if(sources)
    add_library(weir_${NAME} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(weir_${NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(weir_${NAME} ${scope}
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(weir_${NAME} ${scope} ${deps} ${ARG_LIBS})

  if(tests AND WEIR_TESTING)
    weir_test(weir_${NAME}_test SOURCES ${tests} LIBS weir_${NAME} ${ARG_TEST_LIBS})
  endif()
endfunction()

# weir_test(NAME SOURCES file... [LIBS library...]): a Google Test program, one entry in ctest.
function(weir_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${NAME} ${ARG_SOURCES})
  target_include_directories(${NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src"
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${NAME} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  add_test(NAME ${NAME} COMMAND ${NAME} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${WEIR_TEST_SECONDS})
endfunction()
