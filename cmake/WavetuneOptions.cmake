# What a user may switch, and the settings every target shares.

option(WAVETUNE_BUILD_TESTS "Build unit tests, component tests and benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(WAVETUNE_CORE_ONLY
  "Build only what needs no gRPC, protobuf or RocksDB: decisions, jobs, agent, client core (sanitizers, cross builds)" OFF)
option(WAVETUNE_CLIENT_ONLY
  "Build only the client library and what it links: model, proto, client (the Python package)" OFF)
option(WAVETUNE_CLIENT_PACKAGE
  "Compile the client again with lite protobuf code, for libwavetune.so, Python and what is installed; \
OFF: the C API is a static library on the client of our own programs (asan)" ON)
option(WAVETUNE_WERROR "Treat warnings as errors" OFF)
option(WAVETUNE_VERIFY_HEADERS
  "Add the target all_verify_interface_header_sets: every public header compiles on its own" OFF)
option(WAVETUNE_TEST_PER_CASE
  "One CTest entry per test case (precise); OFF: one per test binary or a share of it (quick), but for component tests" ON)
set(WAVETUNE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: 'address,undefined' or 'thread'")
set(WAVETUNE_OUTER_OPTIONS ""
  CACHE STRING "Compile options of what stands above base/, model/ and fit/: '-O0;-fno-sanitize=vptr'")
set(WAVETUNE_TEST_OPTIONS ""
  CACHE STRING "Compile options of the sources of tests (but for those with the label `both`), after all others: '-O0' compiles them in half the time")
set(WAVETUNE_TESTS "all" CACHE STRING
  "Which tests: all; shipped: those with the label `shipped` or `both`, which show something of the code that is shipped; \
sanitized: all but those with the label `shipped`")
set_property(CACHE WAVETUNE_TESTS PROPERTY STRINGS all shipped sanitized)
set(WAVETUNE_TEST_TIMEOUT 120 CACHE STRING "Default seconds that one CTest entry may take")
# WAVETUNE_CUDA is declared in WavetuneDependencies.cmake: its default is whether the toolkit was found.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the C ABI and the Python package are shared objects
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ${WAVETUNE_VERIFY_HEADERS})

# No fused multiply-add behind our back, anywhere: inline code of model's headers must give the same bits in every
# target and test (GCC contracts by default, and AArch64 always has the instruction).
add_compile_options(-ffp-contract=off)

if(WAVETUNE_SANITIZE)
  add_compile_options(-fsanitize=${WAVETUNE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WAVETUNE_SANITIZE})
  # The runtime in the program, as Clang has it: GCC's shared one looks its thread-local storage up through the dynamic linker
  # where a function with an array of its own begins, a third of what fits take.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND WAVETUNE_SANITIZE MATCHES "address")
    add_link_options(-static-libasan)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND WAVETUNE_SANITIZE MATCHES "address")
    add_compile_definitions(__SANITIZE_ADDRESS__=1)  # As GCC says it; tests ask.
  endif()
  if(WAVETUNE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are hashed relative to the checkout, so that clones and worktrees share what one of them compiled.
  find_program(WAVETUNE_CCACHE ccache)
  if(WAVETUNE_CCACHE)
    set(ccache ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${WAVETUNE_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER "${ccache}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${ccache}")
  endif()
endif()

# Many files as one unit (all presets but dev): headers are most of what is compiled. Not for everyday work, where one
# file changes at a time. Names in unnamed namespaces must then differ within a library.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)  # takes the units for headers
endif()

# lld links the statically linked test binaries several times faster than GNU ld.
if(NOT CMAKE_CROSSCOMPILING)
  find_program(WAVETUNE_LLD ld.lld)
  if(WAVETUNE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
