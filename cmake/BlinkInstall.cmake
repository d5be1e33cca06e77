# What `cmake --install BUILD --prefix PREFIX` puts where:
#
#   bin/             the programs
#   lib/             the libraries of the folders below, static
#   lib/cmake/blink/ the package: find_package(blink) defines blink::base, blink::privacy, blink::wire, ...
#   include/blink/   their headers, under the paths that sources include: "common/privacy/parameters.h"
#   share/man/man1/, share/bash-completion/completions/
#                    a page and a completion of each program, made by the program itself
#   share/doc/blink/ licence, documents and sample configurations
#
# LibTorch is not installed. The programs that need it look for it in PREFIX/lib/blink/torch/lib (a link or a copy),
# then where it was when they were built.
#
# LibTorch.cmake alone sets the paths where libraries are looked for; installing does not change a program.
set(CMAKE_SKIP_RPATH ON)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A folder is installed with all folders in it, its libraries and its headers. None of them may need LibTorch.
set(BLINK_INSTALLED_FOLDERS
  common aggregator_server/links aggregator_server/reports aggregator_server/profiles aggregator_server/estimate
  aggregator_server/plausibility)
set(BLINK_INSTALLED_PROGRAMS blink-node blink-aggregator blink-worker blink)
set(BLINK_INSTALLED_HELPERS blink-simulate)  # nobody starts them by hand
set(BLINK_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/blink)
set(BLINK_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/blink)
set(BLINK_DOC_DIR ${CMAKE_INSTALL_DATADIR}/doc/blink)

# Exports the library blink_<name> as blink::<name>.
function(blink_install_library name)
  set_target_properties(blink_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS blink_${name} EXPORT blinkTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endfunction()

# The same, when it stands in one of the folders.
function(blink_install_library_by_folder name)
  foreach(_folder IN LISTS BLINK_INSTALLED_FOLDERS)
    set(_full ${CMAKE_SOURCE_DIR}/${_folder})
    cmake_path(IS_PREFIX _full ${CMAKE_CURRENT_SOURCE_DIR} _inside)
    if(_inside)
      blink_install_library(${name})
      return()
    endif()
  endforeach()
endfunction()

# blink_install_pages(blink share/man share COMPONENT programs [EXCLUDE_FROM_ALL])
# The man page and the completion that the program makes of its own flags.
function(blink_install_pages name man_folder data_folder)
  foreach(_what IN ITEMS "man@${man_folder}/man1/${name}.1"
                         "bash-completion@${data_folder}/bash-completion/completions/${name}")
    string(REPLACE "@" ";" _parts ${_what})
    list(GET _parts 0 _kind)
    list(GET _parts 1 _file)
    install(CODE "
      set(_file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${_file}\")
      cmake_path(GET _file PARENT_PATH _folder)
      file(MAKE_DIRECTORY \"\${_folder}\")
      execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:${name}>\" --generate ${_kind}
        OUTPUT_FILE \"\${_file}\" COMMAND_ERROR_IS_FATAL ANY)
      message(STATUS \"Made: \${_file}\")
      list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${_file}\")" ${ARGN})
  endforeach()
endfunction()

function(blink_install_program name)
  if(NOT name IN_LIST BLINK_INSTALLED_PROGRAMS AND NOT name IN_LIST BLINK_INSTALLED_HELPERS)
    return()
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  if(name IN_LIST BLINK_INSTALLED_HELPERS)
    return()
  endif()
  blink_install_pages(${name} ${CMAKE_INSTALL_MANDIR} ${CMAKE_INSTALL_DATADIR} COMPONENT programs)
endfunction()

# Called once, after all targets are there.
function(blink_install_the_rest)
  foreach(_name IN ITEMS cli11 json libzip boost eigen)
    if(TARGET blink_${_name})
      blink_install_library(${_name})
    endif()
  endforeach()
  foreach(_folder IN LISTS BLINK_INSTALLED_FOLDERS)
    if(BLINK_NODE_ONLY AND _folder MATCHES "^aggregator_server/")
      continue()
    endif()
    install(DIRECTORY ${_folder}/ DESTINATION ${BLINK_INCLUDE_DIR}/${_folder} COMPONENT development
      FILES_MATCHING PATTERN *.h)
  endforeach()
  install(EXPORT blinkTargets NAMESPACE blink:: DESTINATION ${BLINK_PACKAGE_DIR} COMPONENT development)
  configure_package_config_file(cmake/blinkConfig.cmake.in ${CMAKE_BINARY_DIR}/blinkConfig.cmake
    INSTALL_DESTINATION ${BLINK_PACKAGE_DIR})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/blinkConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/blinkConfig.cmake ${CMAKE_BINARY_DIR}/blinkConfigVersion.cmake
    DESTINATION ${BLINK_PACKAGE_DIR} COMPONENT development)
  install(FILES LICENSE README.md CHANGELOG.md SECURITY.md ARCHITECTURE.md DESTINATION ${BLINK_DOC_DIR}
    COMPONENT documents)
  install(DIRECTORY docs/ DESTINATION ${BLINK_DOC_DIR}/docs COMPONENT documents FILES_MATCHING PATTERN *.md)
  install(DIRECTORY deploy/ DESTINATION ${BLINK_DOC_DIR}/deploy COMPONENT documents
    FILES_MATCHING PATTERN *.conf PATTERN *.json PATTERN *.yml)
endfunction()
