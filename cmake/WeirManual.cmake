# The man pages and completions that are installed with the program, made at build time from what
# they tell of: the command line's definitions, and docs/policy.md.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(weir_manual_source "${PROJECT_SOURCE_DIR}/packaging/manual")
set(weir_manual_dir "${PROJECT_BINARY_DIR}/manual")
file(MAKE_DIRECTORY "${weir_manual_dir}")

add_executable(weir_manual "${weir_manual_source}/main.cc" "${weir_manual_source}/man_page.cc"
  "${weir_manual_source}/completions.cc")
target_link_libraries(weir_manual PRIVATE weir_app)

# weir_made(FILE COMMAND word... DEPENDS file...): a file of the manual, the command's output.
function(weir_made FILE)
  cmake_parse_arguments(ARG "" "" "COMMAND;DEPENDS" ${ARGN})
  list(JOIN ARG_COMMAND "' '" words)
  add_custom_command(OUTPUT "${weir_manual_dir}/${FILE}" VERBATIM
    COMMAND sh -c "'${words}' > '${weir_manual_dir}/${FILE}'" DEPENDS ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY weir_manual_files "${weir_manual_dir}/${FILE}")
endfunction()

weir_made(weir.1 DEPENDS weir_manual "${weir_manual_source}/weir.1.in"
  COMMAND $<TARGET_FILE:weir_manual> man "${weir_manual_source}/weir.1.in" "${WEIR_COMMIT_DATE}")
weir_made(weir.yaml.5 DEPENDS "${weir_manual_source}/man_from_markdown.py"
    "${PROJECT_SOURCE_DIR}/docs/policy.md"
  COMMAND "${Python3_EXECUTABLE}" "${weir_manual_source}/man_from_markdown.py"
    "${PROJECT_SOURCE_DIR}/docs/policy.md" "${PROJECT_VERSION}" "${WEIR_COMMIT_DATE}")
weir_made(weir.bash DEPENDS weir_manual COMMAND $<TARGET_FILE:weir_manual> bash)
weir_made(_weir DEPENDS weir_manual COMMAND $<TARGET_FILE:weir_manual> zsh)
weir_made(weir.fish DEPENDS weir_manual COMMAND $<TARGET_FILE:weir_manual> fish)
foreach(page weir.1 weir.yaml.5)  # as Debian has them; -n leaves the time out
  weir_made(${page}.gz DEPENDS "${weir_manual_dir}/${page}" COMMAND gzip -9nc "${weir_manual_dir}/${page}")
endforeach()
get_property(weir_manual_files GLOBAL PROPERTY weir_manual_files)
add_custom_target(weir_manual_files ALL DEPENDS ${weir_manual_files})

install(FILES "${weir_manual_dir}/weir.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
  COMPONENT program)
install(FILES "${weir_manual_dir}/weir.yaml.5.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man5"
  COMPONENT program)
install(FILES "${weir_manual_dir}/weir.bash" RENAME weir COMPONENT program
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${weir_manual_dir}/_weir" COMPONENT program
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
install(FILES "${weir_manual_dir}/weir.fish" COMPONENT program
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
