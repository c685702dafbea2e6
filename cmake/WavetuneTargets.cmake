# Functions that declare targets, so that a folder's CMakeLists.txt says what a room holds and what it stands on.
#
#   wavetune_library(NAME model
#     FOLDERS kernel table               # every source in them, but tests, doubles and main.cc
#     EXCLUDE rocksdb_                   # ... whose names do not begin so; INCLUDE: that do
#     HDRS mapping.h SRCS mapping.cc     # and these
#     DEPS absl::status wavetune::proto  # part of the interface
#     PRIVATE_DEPS ZLIB::ZLIB            # used by the .cc files only
#     OPTIONS -ffp-contract=off)         # extra compile options, private
#   wavetune_tests(NAME model_kernel_test FOLDERS kernel DEPS wavetune::model)  # every *_test.cc in one program
#   wavetune_binary(NAME wavetuned SRCS main.cc DEPS wavetune::server)
#   wavetune_test(NAME mapping_test SRCS mapping_test.cc DEPS wavetune::model [LABELS gpu] [TIMEOUT 300]
#     [PROGRAMS wavetuned])               # that it starts
#   wavetune_benchmark(NAME resolve_benchmark SRCS resolve_benchmark.cc DEPS wavetune::client)
#
# With no SRCS a library is an INTERFACE library and a binary, test or benchmark is not declared at all,
# so that a folder can be laid out before its code is there.
#
# Folders are globbed: a new file needs no line here, and CMake looks again at each build (CONFIGURE_DEPENDS).

# Returns the headers and sources of FOLDERS but tests, doubles and main.cc.
function(wavetune_sources headers_result sources_result)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "FOLDERS;INCLUDE;EXCLUDE")
  foreach(kind headers sources)
    set(pattern "*.h")
    if(kind STREQUAL "sources")
      set(pattern "*.cc")
    endif()
    _wavetune_glob(files "${pattern}" "${ARG_FOLDERS}" "${ARG_INCLUDE}" "${ARG_EXCLUDE}")
    list(FILTER files EXCLUDE REGEX "(^|/)(main[.]|fake_|faulty_|([^/]*_)?(test|benchmark|fixture)[_.])[^/]*$")
    set(${${kind}_result} ${files} PARENT_SCOPE)
  endforeach()
endfunction()

function(_wavetune_glob result pattern folders include exclude)
  set(files "")
  foreach(folder IN LISTS folders)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${pattern}")
    if(NOT IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${folder}: no such folder")
    endif()
    list(APPEND files ${found})
  endforeach()
  if(include)
    list(JOIN include "|" alternatives)
    list(FILTER files INCLUDE REGEX "(^|/)(${alternatives})[^/]*$")
  endif()
  if(exclude)
    list(JOIN exclude "|" alternatives)
    list(FILTER files EXCLUDE REGEX "(^|/)(${alternatives})[^/]*$")
  endif()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

function(wavetune_library)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME" "FOLDERS;INCLUDE;EXCLUDE;HDRS;SRCS;DEPS;PRIVATE_DEPS;OPTIONS" )
  _wavetune_check_arguments(wavetune_library)
  set(target wavetune_${ARG_NAME})
  if(ARG_FOLDERS)
    wavetune_sources(headers sources FOLDERS ${ARG_FOLDERS} INCLUDE ${ARG_INCLUDE} EXCLUDE ${ARG_EXCLUDE})
    list(APPEND ARG_HDRS ${headers})
    list(APPEND ARG_SRCS ${sources})
  endif()

  if(ARG_SRCS)
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${ARG_SRCS})
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} wavetune::warnings)
    target_compile_options(${target} PRIVATE ${ARG_OPTIONS})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
    set(scope INTERFACE)
  endif()
  if(ARG_HDRS)
    target_sources(${target} ${scope}
      FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${ARG_HDRS})
  endif()
  add_library(wavetune::${ARG_NAME} ALIAS ${target})
endfunction()

function(wavetune_binary)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME" "SRCS;DEPS;OPTIONS")
  _wavetune_check_arguments(wavetune_binary)
  if(NOT ARG_SRCS)
    return()
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_include_directories(${ARG_NAME} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} wavetune::warnings)
  target_compile_options(${ARG_NAME} PRIVATE ${ARG_OPTIONS})
endfunction()

# Test code finds the checkout (golden files, manifests) through the macro WAVETUNE_SOURCE_DIR and the programs it
# starts through WAVETUNE_BIN_DIR, both of tests/lib/source_paths.h. Only what includes it depends on where the checkout is.
set(WAVETUNE_TEST_PATHS_DIR "${PROJECT_BINARY_DIR}/test_paths")
file(CONFIGURE OUTPUT "${WAVETUNE_TEST_PATHS_DIR}/tests/lib/source_paths.h" @ONLY CONTENT
"#pragma once
#define WAVETUNE_SOURCE_DIR \"@PROJECT_SOURCE_DIR@\"
#define WAVETUNE_BIN_DIR \"@CMAKE_RUNTIME_OUTPUT_DIRECTORY@\"
")
function(wavetune_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "NO_MAIN" "NAME;TIMEOUT" "SRCS;DEPS;LABELS;PROGRAMS;OPTIONS")
  _wavetune_check_arguments(wavetune_test)
  _wavetune_wants_test(wanted ${ARG_LABELS})
  if(NOT wanted OR NOT ARG_SRCS)
    return()
  endif()
  set(main GTest::gmock_main)
  if(ARG_NO_MAIN)
    set(main GTest::gmock)
  endif()
  wavetune_binary(NAME ${ARG_NAME} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS} ${main} GTest::gtest OPTIONS ${ARG_OPTIONS})
  if(ARG_PROGRAMS)
    add_dependencies(${ARG_NAME} ${ARG_PROGRAMS})
  endif()
  _wavetune_note_test_program(${ARG_NAME} ${ARG_SRCS})
  # These show what compilers make of the headers' code, too.
  if(NOT "both" IN_LIST ARG_LABELS)
    target_compile_options(${ARG_NAME} PRIVATE ${WAVETUNE_TEST_OPTIONS})
  endif()
  target_include_directories(${ARG_NAME} PRIVATE "${WAVETUNE_TEST_PATHS_DIR}")

  set(timeout ${WAVETUNE_TEST_TIMEOUT})
  if(ARG_TIMEOUT)
    set(timeout ${ARG_TIMEOUT})
  endif()
  set(properties TIMEOUT ${timeout})
  if(ARG_LABELS)
    # gtest_discover_tests of CMake 3.25 passes the list through several more expansions, each of which eats half
    # of the backslashes; with fewer only the first label survives.
    string(REPEAT "\\" 8 escape)
    list(JOIN ARG_LABELS "${escape};" labels)
    list(APPEND properties LABELS "${labels}")
  endif()
  # Component tests wait for processes of theirs most of the time: their cases run beside each other, and begin first.
  if("component" IN_LIST ARG_LABELS)
    list(APPEND properties COST 100)
  endif()
  if(WAVETUNE_TEST_PER_CASE OR "component" IN_LIST ARG_LABELS)
    gtest_discover_tests(${ARG_NAME}
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      NO_PRETTY_VALUES
      WORKING_DIRECTORY "${PROJECT_BINARY_DIR}"
      PROPERTIES ${properties})
  else()
    math(EXPR timeout "${timeout} * 5")
    list(LENGTH ARG_SRCS files)
    math(EXPR shards "(${files} + 11) / 12")
    math(EXPR last "${shards} - 1")
    foreach(shard RANGE ${last})
      set(test ${ARG_NAME})
      if(shards GREATER 1)
        string(APPEND test ".${shard}")
      endif()
      add_test(NAME ${test} COMMAND ${ARG_NAME} WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
      set_tests_properties(${test} PROPERTIES TIMEOUT ${timeout} LABELS "${ARG_LABELS}"
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  endif()
endfunction()

# Whether a test with these labels belongs to WAVETUNE_TESTS.
function(_wavetune_wants_test result)
  set(${result} ${WAVETUNE_BUILD_TESTS} PARENT_SCOPE)
  if(WAVETUNE_TESTS STREQUAL "shipped" AND NOT "shipped" IN_LIST ARGN AND NOT "both" IN_LIST ARGN)
    set(${result} OFF PARENT_SCOPE)
  elseif(WAVETUNE_TESTS STREQUAL "sanitized" AND "shipped" IN_LIST ARGN)
    set(${result} OFF PARENT_SCOPE)
  endif()
endfunction()

# Writes down which folders a test program has its sources from, for scripts/dev.sh.
function(_wavetune_note_test_program name)
  set(folders "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders "${folder}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(JOIN folders " " folders)
  set_property(GLOBAL APPEND_STRING PROPERTY WAVETUNE_TEST_PROGRAMS "${name} ${folders}\n")
endfunction()

# Call it when all targets are declared.
function(wavetune_write_test_programs)
  get_property(programs GLOBAL PROPERTY WAVETUNE_TEST_PROGRAMS)
  file(WRITE "${PROJECT_BINARY_DIR}/test_programs.txt" "${programs}")
endfunction()

# One program of every *_test.cc of FOLDERS (default: this one), for one start and one link in place of many.
function(wavetune_tests)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;TIMEOUT" "FOLDERS;INCLUDE;EXCLUDE;SRCS;DEPS;LABELS;PROGRAMS;OPTIONS")
  _wavetune_check_arguments(wavetune_tests)
  if(NOT ARG_FOLDERS)
    set(ARG_FOLDERS .)
  endif()
  _wavetune_glob(files "*_test.cc" "${ARG_FOLDERS}" "${ARG_INCLUDE}" "${ARG_EXCLUDE}")
  set(more "")
  foreach(argument TIMEOUT LABELS PROGRAMS OPTIONS)
    if(ARG_${argument})
      list(APPEND more ${argument} ${ARG_${argument}})
    endif()
  endforeach()
  wavetune_test(NAME ${ARG_NAME} SRCS ${files} ${ARG_SRCS} DEPS ${ARG_DEPS} ${more})
endfunction()

# Benchmarks are built with the tests so that they cannot rot, and run by hand or by scripts/soak.sh:
# a budget is judged by a person on a quiet machine, never by a timed test. Sanitizers would see nothing but slow programs.
function(wavetune_benchmark)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME" "SRCS;DEPS;OPTIONS")
  _wavetune_check_arguments(wavetune_benchmark)
  if(NOT WAVETUNE_BUILD_TESTS OR WAVETUNE_CORE_ONLY OR WAVETUNE_SANITIZE OR NOT ARG_SRCS)
    return()
  endif()
  wavetune_binary(NAME ${ARG_NAME} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS} benchmark::benchmark OPTIONS ${ARG_OPTIONS})
endfunction()

macro(_wavetune_check_arguments function)
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_NAME)
    message(FATAL_ERROR "${function}(${ARG_NAME}): NAME missing or unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
endmacro()
