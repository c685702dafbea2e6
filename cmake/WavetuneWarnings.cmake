# The one place where warnings are chosen. Every target of ours links wavetune::warnings privately;
# generated code and third-party headers (SYSTEM) do not see them.

add_library(wavetune_warnings INTERFACE)
add_library(wavetune::warnings ALIAS wavetune_warnings)

target_compile_options(wavetune_warnings INTERFACE
  -Wall
  -Wextra
  -Wshadow
  -Wimplicit-fallthrough
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>
  # Designated initialisers that leave the rest defaulted are how our Options structs are used.
  -Wno-missing-field-initializers)

if(WAVETUNE_WERROR)
  target_compile_options(wavetune_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND WAVETUNE_SANITIZE)
  # GCC 12 loses track of lifetimes in instrumented code and reports what is not there.
  target_compile_options(wavetune_warnings INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow)
endif()
