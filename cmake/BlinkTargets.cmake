# One library per folder: blink_library(base SOURCES a.cc DEPS absl::status PRIVATE_DEPS OpenSSL::Crypto)
# makes the target blink_base and its alias blink::base. BlinkInstall.cmake says which of them are installed.
add_library(blink_options INTERFACE)
target_compile_options(blink_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
# Programs and logs name a source by its path in the project, wherever that lies. The compiler cache then finds what
# another clone compiled.
target_compile_options(blink_options INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(BLINK_WERROR)
  target_compile_options(blink_options INTERFACE -Werror)
  if(BLINK_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's warnings that follow the flow of values give false alarms in code that sanitizers have changed.
    target_compile_options(blink_options INTERFACE -Wno-error=maybe-uninitialized -Wno-error=array-bounds
        -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=restrict)
  endif()
endif()
# Without optimisation most files compile in less than half of the time. The libraries that calculate are optimised,
# so that their tests end.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(blink_options INTERFACE $<$<BOOL:$<TARGET_PROPERTY:BLINK_CALCULATES>>:-O1> -g1)
endif()
set(_calculating_folders common/(base|simd|privacy|wire|graph) node_client
    aggregator_server/(links|plausibility|profiles|reports|estimate|select|train) tools/audit)
list(JOIN _calculating_folders | _calculating_folders)
# Files of one library are compiled together (CMAKE_UNITY_BUILD): the headers that they share cost more than they do.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # it takes the sources, which are included then, for headers
  target_compile_options(blink_options INTERFACE -Wno-subobject-linkage)
endif()
if(BLINK_SANITIZE)
  target_compile_options(blink_options INTERFACE -fsanitize=${BLINK_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
  target_link_options(blink_options INTERFACE -fsanitize=${BLINK_SANITIZE})
endif()
# What reads foreign bytes: a fuzz build compiles it for coverage.
set(_fuzzed_folders common/(base|graph|privacy|wire|pki) node_client aggregator_server/reports tools/dataset/import)
list(JOIN _fuzzed_folders | _fuzzed_folders)

function(blink_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(blink_${name} STATIC ${ARG_SOURCES})
    set(_scope PUBLIC)
    target_link_libraries(blink_${name} PRIVATE ${ARG_PRIVATE_DEPS})
  else()
    add_library(blink_${name} INTERFACE)
    set(_scope INTERFACE)
  endif()
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/(${_calculating_folders})(/|$)")
    set_target_properties(blink_${name} PROPERTIES BLINK_CALCULATES ON)
  endif()
  if(BLINK_FUZZ AND ARG_SOURCES AND CMAKE_CURRENT_SOURCE_DIR MATCHES "/(${_fuzzed_folders})$")
    target_compile_options(blink_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  target_compile_features(blink_${name} ${_scope} cxx_std_20)
  target_include_directories(blink_${name} ${_scope} $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${BLINK_INCLUDE_DIR}>)
  # Our warnings are not for those who use the installed libraries.
  target_link_libraries(blink_${name} ${_scope} $<BUILD_INTERFACE:blink_options> ${ARG_DEPS})
  add_library(blink::${name} ALIAS blink_${name})
  blink_install_library_by_folder(${name})
endfunction()

# The commit that programs tell (common/base/program.h). It is looked at in every build, and only a new one compiles.
set(_commit_source ${CMAKE_BINARY_DIR}/generated/commit.cc)
add_custom_target(blink_find_commit BYPRODUCTS ${_commit_source}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${_commit_source} -DCOMMIT=${BLINK_COMMIT}
          -P ${CMAKE_SOURCE_DIR}/cmake/Commit.cmake VERBATIM)
add_library(blink_commit OBJECT ${_commit_source})
add_dependencies(blink_commit blink_find_commit)

# A program: blink_binary(blink-node SOURCES main.cc DEPS blink::agent)
function(blink_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} $<TARGET_OBJECTS:blink_program_start>)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE blink_options blink_commit ${ARG_DEPS})
  blink_install_program(${name})
endfunction()

# A GoogleTest program: blink_test(wire_codec_test LABEL unit SOURCES codec_test.cc DEPS blink::wire TIMEOUT 120)
function(blink_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE blink_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  # What is tested is in the libraries; the tests' own code compiles faster so.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()
