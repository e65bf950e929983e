# Debian packages: weir (the program as a service), libweir and libweir-dev, one for each install
# component. `./dev package` builds them; packaging/check_packages.py looks into them.
#
# They are laid out for the prefix /usr, which the presets package and dev have.

set(weir_doc_dir "${CMAKE_INSTALL_DATADIR}/doc")
set(weir_debian "${PROJECT_SOURCE_DIR}/packaging/debian")
set(weir_package_dir "${PROJECT_BINARY_DIR}/packaging")

# The program as a service: its unit, its policy.
configure_file("${PROJECT_SOURCE_DIR}/packaging/systemd/weir.service.in"
  "${weir_package_dir}/weir.service" @ONLY)
install(FILES "${weir_package_dir}/weir.service" "${PROJECT_SOURCE_DIR}/packaging/systemd/weir.socket"
  DESTINATION lib/systemd/system COMPONENT program)
# WHY not the full path for every prefix: `cmake --install --prefix` could not move it.
set(weir_etc_dir "${CMAKE_INSTALL_SYSCONFDIR}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(weir_etc_dir "/etc")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/packaging/weir.yaml" DESTINATION "${weir_etc_dir}/weir"
  COMPONENT program)

# The documents.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" DESTINATION "${weir_doc_dir}/weir" COMPONENT program
  FILES_MATCHING PATTERN "*.md" PATTERN "*.yaml" PATTERN "images/*.png")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/packaging/prometheus" "${PROJECT_SOURCE_DIR}/packaging/grafana"
  DESTINATION "${weir_doc_dir}/weir/examples" COMPONENT program)
install(FILES "${PROJECT_SOURCE_DIR}/examples/quickstart.yaml"
  DESTINATION "${weir_doc_dir}/weir/examples" COMPONENT program)

# What Debian asks of every package: its licence, and its changes, compressed without a time.
execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" log -1 "--format=%cD"
  OUTPUT_VARIABLE WEIR_COMMIT_TIME OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
configure_file("${weir_debian}/changelog.in" "${weir_package_dir}/changelog.Debian" @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${weir_package_dir}/changelog" COPYONLY)
foreach(file changelog changelog.Debian)
  execute_process(COMMAND gzip -9nkf "${weir_package_dir}/${file}")
endforeach()
foreach(pair "program weir" "runtime libweir${weir_soversion}" "library libweir-dev")
  separate_arguments(pair)
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES "${weir_debian}/copyright" "${weir_package_dir}/changelog.gz"
    "${weir_package_dir}/changelog.Debian.gz" DESTINATION "${weir_doc_dir}/${package}"
    COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)  # /etc is not below the prefix
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "the weir authors <weir@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed rate limiter")
set(CPACK_COMPONENTS_ALL program runtime library)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(weir_deb_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME weir)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "tzdata")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA "${weir_debian}/postinst" "${weir_debian}/prerm"
  "${weir_debian}/postrm" "${weir_debian}/conffiles")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"distributed rate limiter: gateway and check API
 weir guards a service: a policy file says who may do how much. It stands in
 front of the service as a gateway for HTTP and WebSocket, or answers those who
 ask: over HTTP, to Redis clients, and to Envoy. Counters live in the process,
 or in a Redis or Valkey that a fleet shares.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libweir${weir_soversion})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "tzdata")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${weir_debian}/triggers")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
"rate limiter for C++ programs: shared library
 Limits within a program: token and leaky buckets, windows, logs, concurrency,
 with the same answers as the program weir gives.")

# The static library asks for what it was built of.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libweir-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
string(CONCAT CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
  "libweir${weir_soversion} (= ${weir_deb_version}), libyaml-cpp-dev, libtomlplusplus-dev, "
  "libspdlog-dev, libfmt-dev, libhowardhinnant-date-dev, libre2-dev")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"rate limiter for C++ programs: headers and static library
 What programs that use weir are built with, for CMake (find_package) and
 pkg-config.")
include(CPack)
