# The commit that `weir --version` names, written to a header only when it changes, and its date, which
# the man pages and packages bear: what is built twice of one commit is the same.
execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE WEIR_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT WEIR_COMMIT)
  set(WEIR_COMMIT "unknown")
endif()
execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" log -1 --format=%cs
  OUTPUT_VARIABLE WEIR_COMMIT_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
configure_file("${PROJECT_SOURCE_DIR}/cmake/build_info.h.in"
               "${PROJECT_BINARY_DIR}/generated/build_info.h" @ONLY)
