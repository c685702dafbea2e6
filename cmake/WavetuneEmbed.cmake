# Text files as C++ constants, so that a program needs no files beside it.
#
#   wavetune_embed_text(
#     OUTPUT report_assets.cc                     # in the binary folder of the caller
#     HEADER cli/report/report_assets.h    # declares the constants: extern const absl::string_view
#     NAMESPACE wavetune::cli::report_assets
#     kPage page.html                             # a constant and its file,
#     kScript first.js second.js                  # or several, one after the other;
#     kNewFiles a/x.cl a/y.txt)                   # a name that ends with Files is a list: each file with its name and its folder's
#
# Written anew when one of the files changes. A constant is a name that begins with k and a capital letter.

set(WAVETUNE_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/WavetuneEmbedScript.cmake")

function(wavetune_embed_text)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "OUTPUT;HEADER;NAMESPACE" "")
  set(entries)
  set(files)
  foreach(argument IN LISTS ARG_UNPARSED_ARGUMENTS)
    if(argument MATCHES "^k[A-Z][A-Za-z]*$")
      list(APPEND entries "${argument}")
    else()
      get_filename_component(file "${argument}" ABSOLUTE)
      list(APPEND entries "${file}")
      list(APPEND files "${file}")
    endif()
  endforeach()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT}")
  # A list separator of its own: semicolons end the argument on their way through the build tool.
  list(JOIN entries "|" joined)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DHEADER=${ARG_HEADER}" "-DNAMESPACE=${ARG_NAMESPACE}"
      "-DENTRIES=${joined}" -P "${WAVETUNE_EMBED_SCRIPT}"
    DEPENDS ${files} "${WAVETUNE_EMBED_SCRIPT}"
    COMMENT "Embedding ${ARG_OUTPUT}"
    VERBATIM)
endfunction()
