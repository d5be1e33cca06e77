# The Debian packages, which scripts/package makes with CPack:
#
#   blink-node        blink-node, its unit, its user and its folders
#   blink-aggregator  blink-aggregator and blink-worker, their unit, user, folders and configuration
#   blink-tools       blink, blink-simulate, blink-sweep, blink-report, the documents
#   blink-torch       the part of LibTorch that training on the CPU loads, at the place where the programs look for it
#
# Each is a component of its own, which `cmake --install` leaves out unless it is named. deploy/debian/ has the scripts
# and the configuration, cmake/PackageFiles.cmake finishes the files.
set(BLINK_PACKAGE_RELEASE 1 CACHE STRING "The part of a package's version behind the dash")
set(BLINK_PACKAGE_MAINTAINER "blink maintainers <maintainers@example.org>" CACHE STRING "Who answers for a package")
set(BLINK_PACKAGE_NODE_DEPENDS "" CACHE STRING "What blink-node depends on, where dpkg-shlibdeps cannot tell")
set(_debian ${CMAKE_SOURCE_DIR}/deploy/debian)
set(_systemd ${CMAKE_SOURCE_DIR}/deploy/systemd)

# blink_package(node PROGRAMS blink-node PAGES blink-node TEXT "one line" "more")
function(blink_package name)
  cmake_parse_arguments(ARG "" "" "PROGRAMS;PAGES;TEXT;DEPENDS;RECOMMENDS" ${ARGN})
  set(_component package_${name})
  set(_package blink-${name})
  foreach(_program IN LISTS ARG_PROGRAMS)
    install(TARGETS ${_program} RUNTIME DESTINATION bin COMPONENT ${_component} EXCLUDE_FROM_ALL)
  endforeach()
  foreach(_program IN LISTS ARG_PAGES)
    blink_install_pages(${_program} share/man share COMPONENT ${_component} EXCLUDE_FROM_ALL)
  endforeach()
  install(FILES ${_debian}/copyright DESTINATION share/doc/${_package} COMPONENT ${_component} EXCLUDE_FROM_ALL)
  install(FILES CHANGELOG.md RENAME changelog DESTINATION share/doc/${_package} COMPONENT ${_component}
    EXCLUDE_FROM_ALL)
  if(EXISTS ${_debian}/lintian/${_package})
    install(FILES ${_debian}/lintian/${_package} DESTINATION share/lintian/overrides COMPONENT ${_component}
      EXCLUDE_FROM_ALL)
  endif()
  string(TOUPPER ${_component} _upper)
  list(POP_FRONT ARG_TEXT _line)
  list(JOIN ARG_TEXT "\n" _text)
  set(CPACK_COMPONENT_${_upper}_DESCRIPTION "${_line}\n${_text}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_NAME ${_package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${_upper}_FILE_NAME DEB-DEFAULT PARENT_SCOPE)
  set(CPACK_DEBIAN_${_upper}_DESCRIPTION "${_line}\n${_text}" PARENT_SCOPE)
  list(JOIN ARG_DEPENDS ", " _depends)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_DEPENDS "${_depends}" PARENT_SCOPE)
  list(JOIN ARG_RECOMMENDS ", " _recommends)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_RECOMMENDS "${_recommends}" PARENT_SCOPE)
  file(GLOB _control ${_debian}/${name}/*)
  set(CPACK_DEBIAN_${_upper}_PACKAGE_CONTROL_EXTRA "${_control}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${_component} PARENT_SCOPE)
endfunction()

# blink_package_file(node /etc/default blink-node FROM FILE)
function(blink_package_file name folder file from)
  install(FILES ${from} DESTINATION ${folder} RENAME ${file} COMPONENT package_${name} EXCLUDE_FROM_ALL)
endfunction()

set(CPACK_COMPONENTS_ALL)
set(_installing docs/AGGREGATOR.md docs/INSTALLING.md docs/OPERATIONS.md docs/PROTOCOL.md)
blink_package(node PROGRAMS blink-node PAGES blink-node
  DEPENDS adduser ${BLINK_PACKAGE_NODE_DEPENDS}
  TEXT "sends private reports on the links of a node"
  "blink trains a graph neural network on a graph whose links stay on the"
  "devices. This package has the program of a device, or of a gateway for many"
  "nodes: it flips bits of the list of neighbours at random, sends the result,"
  "and counts what it has spent.")
blink_package_file(node /lib/systemd/system blink-node@.service ${_systemd}/blink-node@.service)
blink_package_file(node /etc/default blink-node ${_debian}/blink-node.default)
install(DIRECTORY DESTINATION /etc/blink/nodes COMPONENT package_node EXCLUDE_FROM_ALL)
install(FILES ${_installing} DESTINATION share/doc/blink-node/docs COMPONENT package_node EXCLUDE_FROM_ALL)
install(FILES deploy/kit.json deploy/policy.json DESTINATION share/doc/blink-node/examples COMPONENT package_node
  EXCLUDE_FROM_ALL)

if(NOT BLINK_NODE_ONLY AND BLINK_WITH_TORCH AND EXISTS ${BLINK_TORCH_ROOT}/version.py)
  file(STRINGS ${BLINK_TORCH_ROOT}/version.py _torch_version REGEX "^__version__ = ")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" _torch_version "${_torch_version}")
  set(_torch_abi blink-torch-${_torch_version})
  blink_package(aggregator PROGRAMS blink-aggregator blink-worker PAGES blink-aggregator blink-worker
    DEPENDS adduser ${_torch_abi}
    RECOMMENDS blink-tools
    TEXT "collects private reports of nodes and trains on them"
    "blink trains a graph neural network on a graph whose links stay on the"
    "devices. This package has the service that collects the nodes' reports,"
    "estimates the links from them and trains the network.")
  blink_package_file(aggregator /lib/systemd/system blink-aggregator.service ${_systemd}/blink-aggregator.service)
  blink_package_file(aggregator /lib/systemd/system blink-aggregator@.service ${_systemd}/blink-aggregator@.service)
  blink_package_file(aggregator /etc/default blink-aggregator ${_debian}/blink-aggregator.default)
  blink_package_file(aggregator /etc/blink/aggregator aggregator.conf ${_debian}/aggregator.conf)
  install(DIRECTORY DESTINATION /etc/blink/aggregator/tls COMPONENT package_aggregator EXCLUDE_FROM_ALL)
  install(DIRECTORY DESTINATION /etc/blink/aggregators COMPONENT package_aggregator EXCLUDE_FROM_ALL)
  install(FILES ${_installing} DESTINATION share/doc/blink-aggregator/docs COMPONENT package_aggregator
    EXCLUDE_FROM_ALL)
  install(DIRECTORY deploy/grafana deploy/haproxy deploy/prometheus DESTINATION share/doc/blink-aggregator/examples
    COMPONENT package_aggregator EXCLUDE_FROM_ALL)

  blink_package(tools PROGRAMS blink blink-simulate PAGES blink
    DEPENDS "python3 (>= 3.11)"
    RECOMMENDS ${_torch_abi}
    TEXT "sets up deployments of blink, opens rounds, simulates, audits"
    "blink trains a graph neural network on a graph whose links stay on the"
    "devices. This package has the command of the authority, of operators and of"
    "researchers. Simulations need LibTorch (blink-torch), and the figures of"
    "blink report need matplotlib.")
  install(PROGRAMS tools/sweep/blink-sweep tools/sweep/blink-report DESTINATION bin COMPONENT package_tools
    EXCLUDE_FROM_ALL)
  foreach(_program IN ITEMS blink-simulate blink-sweep blink-report)  # the page of blink has them all
    install(FILES ${_debian}/see-blink.1 RENAME ${_program}.1 DESTINATION share/man/man1 COMPONENT package_tools
      EXCLUDE_FROM_ALL)
  endforeach()
  install(DIRECTORY tools/sweep/blink_sweep DESTINATION share/blink COMPONENT package_tools EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN *.py PATTERN *.toml)
  install(DIRECTORY docs/ DESTINATION share/doc/blink-tools/docs COMPONENT package_tools EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN *.md)
  install(FILES deploy/operator.conf DESTINATION share/doc/blink-tools/examples COMPONENT package_tools
    EXCLUDE_FROM_ALL)

  blink_package(torch TEXT "LibTorch ${_torch_version}, the part that blink loads to train on the CPU"
    "The libraries of the wheels of PyPI that blink-worker and blink-simulate are"
    "linked with. They lie in a folder of their own, and no other program sees"
    "them.")
  set(CPACK_DEBIAN_PACKAGE_TORCH_PACKAGE_PROVIDES ${_torch_abi})
  set(_wheels ${BLINK_TORCH_ROOT}/..)
  foreach(_library IN ITEMS libtorch_cpu.so libc10.so libgomp.so.1)
    install(FILES ${BLINK_TORCH_ROOT}/lib/${_library} DESTINATION lib/blink/torch/lib COMPONENT package_torch
      EXCLUDE_FROM_ALL)
  endforeach()
  file(GLOB _cuda ${_wheels}/nvidia/cu13/lib/libcudart.so.* ${_wheels}/nvidia/cu13/lib/libcupti.so.*)
  install(FILES ${_cuda} DESTINATION lib/blink/nvidia/cu13/lib COMPONENT package_torch EXCLUDE_FROM_ALL)
  file(GLOB _licences ${_wheels}/torch-*.dist-info/licenses/* ${_wheels}/nvidia_cuda_*.dist-info/licenses/*)
  foreach(_licence IN LISTS _licences)
    string(REGEX REPLACE ".*/([a-z_]+)-[^/]*/licenses/([A-Za-z]+).*" "\\1-\\2" _name ${_licence})
    install(FILES ${_licence} DESTINATION share/doc/blink-torch RENAME ${_name} COMPONENT package_torch
      EXCLUDE_FROM_ALL)
  endforeach()
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME blink)
set(CPACK_PACKAGE_VENDOR blink)
set(CPACK_PACKAGE_CONTACT ${BLINK_PACKAGE_MAINTAINER})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_SOURCE_DIR}/build/packages)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${BLINK_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# Libraries that no package has are those of blink-torch. The part of a program's path that is of the build is gone.
if(BLINK_PACKAGE_NODE_DEPENDS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
if(BLINK_TORCH_ROOT)
  file(GLOB _private ${BLINK_TORCH_ROOT}/../nvidia/cu13/lib)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${BLINK_TORCH_ROOT}/lib ${_private})
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/PackageFiles.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
