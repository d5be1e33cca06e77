# CPack runs this when the files of all packages are in their folders and before they are packed. It makes them what
# Debian wants, and the same at every build: modes, compressed documents, no path of the build folder, one time.
file(GLOB _packages LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/package_*)
foreach(_package IN LISTS _packages)
  file(GLOB_RECURSE _files LIST_DIRECTORIES false ${_package}/*)
  foreach(_file IN LISTS _files)
    if(_file MATCHES "/share/man/|/share/doc/[^/]+/changelog$")
      execute_process(COMMAND gzip -9nf ${_file} COMMAND_ERROR_IS_FATAL ANY)
      string(APPEND _file .gz)
    endif()
    if(_file MATCHES "/usr/bin/(blink-worker|blink-simulate)$")
      file(RPATH_SET FILE ${_file} NEW_RPATH "$ORIGIN/../lib/blink/torch/lib")
    endif()
    if(_file MATCHES "/usr/bin/")
      file(CHMOD ${_file} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
        WORLD_EXECUTE)
    else()
      file(CHMOD ${_file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()
  endforeach()
  # A version with a dash has the changes of the package beside those of the program.
  cmake_path(GET _package FILENAME _component)
  string(REPLACE package_ blink- _name ${_component})
  set(_changes ${_package}/usr/share/doc/${_name}/changelog.Debian)
  string(TIMESTAMP _time "%a, %d %b %Y %H:%M:%S +0000" UTC)
  set(_version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  file(WRITE ${_changes} "${_name} (${_version}) unstable; urgency=medium\n\n"
    "  * changelog.gz has the changes of blink.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${_time}\n")
  execute_process(COMMAND gzip -9nf ${_changes} COMMAND_ERROR_IS_FATAL ANY)
  if(DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND find ${_package} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
