# cmake -DSOURCE=DIR -DOUTPUT=FILE [-DCOMMIT=TEXT] -P Commit.cmake: writes a source with the commit of SOURCE to OUTPUT,
# unless it holds that commit already. COMMIT says it where there is no git or no repository, as in a container build.
cmake_minimum_required(VERSION 3.25)
if(NOT COMMIT)
  find_program(GIT git)
  if(GIT AND EXISTS ${SOURCE}/.git)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude *
      OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT COMMIT MATCHES "^[0-9A-Za-z._-]+$")
  set(COMMIT unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Made by cmake/Commit.cmake.
extern \"C\" const char* BlinkCommit();
extern \"C\" const char* BlinkCommit() { return \"@COMMIT@\"; }
" @ONLY)
