# Debian packages, so that a node needs no compiler (docs/runbook.md):
#
#   cmake --preset release && cmake --build --preset release
#   (cd build/release && cpack)              # build/release/packages/*.deb
#
# | package | component | holds |
# |---|---|---|
# | wavetune | daemon | wavetuned, wavetune, units' users, configuration, documents |
# | wavetune-agent | agent | wavetune-agent |
# | wavetune-kernels | kernels | kernels, as sources |
# | libwavetune-dev | development | client library and headers |
#
# Names and scripts are Debian's: maintainer scripts in deploy/debian/<component>.

set(WAVETUNE_DEBIAN_REVISION 1 CACHE STRING "Revision of the Debian packages")
set(WAVETUNE_MAINTAINER "WaveTune maintainers <maintainers@wavetune.invalid>" CACHE STRING
  "Name and address of who maintains the packages: your site's")
set(debian_dir "${PROJECT_SOURCE_DIR}/deploy/debian")

include(GNUInstallDirs)
# Debian's change log names the version; what changed is in the project's.
set(changelog "${PROJECT_BINARY_DIR}/changelog.Debian")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${changelog}" "wavetune (${PROJECT_VERSION}-${WAVETUNE_DEBIAN_REVISION}) unstable; urgency=medium

  * /usr/share/doc/wavetune/CHANGELOG.md says what is new.

 -- ${WAVETUNE_MAINTAINER}  ${date}
")
execute_process(COMMAND gzip -9n -c "${changelog}" OUTPUT_FILE "${changelog}.gz" COMMAND_ERROR_IS_FATAL ANY)
# Manual pages are what the programs say of themselves, which only a machine that can run them knows.
if(NOT CMAKE_CROSSCOMPILING)
  foreach(page daemon:wavetune:1 daemon:wavetuned:8 agent:wavetune-agent:8)
    string(REPLACE ":" ";" page "${page}")
    list(GET page 0 component)
    list(GET page 1 program)
    list(GET page 2 section)
    set(file "${PROJECT_BINARY_DIR}/${program}.${section}")
    install(CODE "
      execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/deploy/man/man_page.sh\" \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program}\" ${section}
        OUTPUT_FILE \"${file}\" COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND gzip -9n -c \"${file}\" OUTPUT_FILE \"${file}.gz\" COMMAND_ERROR_IS_FATAL ANY)"
      COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES "${file}.gz" DESTINATION "share/man/man${section}" COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endif()
# Only in packages: an installation under another prefix leaves /etc alone.
install(FILES "${PROJECT_SOURCE_DIR}/deploy/wavetune.conf" DESTINATION /etc/wavetune COMPONENT daemon EXCLUDE_FROM_ALL)
foreach(pair daemon:wavetune agent:wavetune-agent kernels:wavetune-kernels development:libwavetune-dev)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES "${debian_dir}/copyright" "${PROJECT_BINARY_DIR}/changelog.Debian.gz" DESTINATION "share/doc/${package}"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME wavetune)
set(CPACK_PACKAGE_VENDOR WaveTune)
set(CPACK_PACKAGE_CONTACT "${WAVETUNE_MAINTAINER}")
# Each package has a first line of its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_COMPONENTS_ALL daemon agent kernels development)
# /etc is outside of the prefix: files go below DESTDIR.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${WAVETUNE_DEBIAN_REVISION})
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Libraries that programs link to are found by dpkg-shlibdeps.
set(CPACK_COMPONENT_DAEMON_DESCRIPTION
  "tuning decisions for GPU kernels: daemon and command line\n\
wavetuned owns measured samples and the tables fitted to them, and serves\n\
tables to every process of a node; wavetune administers it.")
set(CPACK_DEBIAN_DAEMON_PACKAGE_SHLIBDEPS ON)
# The kernels are what its configuration names; systemd makes its users.
set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS
  "wavetune-kernels (>= ${PROJECT_VERSION}~), systemd | systemd-standalone-sysusers, init-system-helpers (>= 1.54~), passwd")
set(CPACK_DEBIAN_DAEMON_PACKAGE_RECOMMENDS "wavetune-agent")
set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA "${debian_dir}/daemon/postinst;${debian_dir}/daemon/prerm;\
${debian_dir}/daemon/postrm;${debian_dir}/daemon/conffiles")

set(CPACK_COMPONENT_AGENT_DESCRIPTION
  "tuning decisions for GPU kernels: profiler agent\n\
wavetune-agent compiles, checks and measures kernels on the GPUs of a node\n\
for wavetuned. Kernels run in processes of their own.")
set(CPACK_DEBIAN_AGENT_PACKAGE_SHLIBDEPS ON)
# Its users and configuration are the other's.
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "wavetune (>= ${PROJECT_VERSION}~), init-system-helpers (>= 1.54~)")
# Drivers are loaded where they are there.
set(CPACK_DEBIAN_AGENT_PACKAGE_SUGGESTS "pocl-opencl-icd, python3")
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA "${debian_dir}/agent/postinst;${debian_dir}/agent/prerm;${debian_dir}/agent/postrm")

set(CPACK_COMPONENT_KERNELS_DESCRIPTION
  "tuning decisions for GPU kernels: kernels\n\
Manifests and sources of the kernels that WaveTune tunes.")
set(CPACK_DEBIAN_KERNELS_PACKAGE_ARCHITECTURE all)

set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "tuning decisions for GPU kernels: client library\n\
What programs that ask for decisions are built with: headers, the C library\n\
and the C++ library.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libabsl-dev, libgrpc++-dev, libprotobuf-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_CONTROL_EXTRA "${debian_dir}/development/triggers")

# Whatever the umask of whoever builds them.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

include(CPack)
