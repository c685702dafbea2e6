# Run by wavetune_embed_text (WavetuneEmbed.cmake): writes OUTPUT from ENTRIES, names and files separated by '|'.

# Ends the raw strings; in no file that anybody writes.
set(delimiter "wavetune_end")

string(REPLACE "|" ";" ENTRIES "${ENTRIES}")
set(definitions "")
set(name "")
set(text "")

# A macro: it reads and sets the variables here.
macro(define_constant)
  if(name MATCHES "Files$")
    string(APPEND definitions
      "constexpr EmbeddedFile ${name}List[] = {${text}};\n"
      "const absl::Span<const EmbeddedFile> ${name}(${name}List);\n\n")
  elseif(name)
    string(APPEND definitions
      "constexpr char ${name}Text[] = R\"${delimiter}(${text})${delimiter}\";\n"
      "const absl::string_view ${name}(${name}Text, sizeof(${name}Text) - 1);\n\n")
  endif()
endmacro()

foreach(entry IN LISTS ENTRIES)
  if(entry MATCHES "^k[A-Z][A-Za-z]*$")
    define_constant()
    set(name "${entry}")
    set(text "")
  else()
    file(READ "${entry}" content)
    string(FIND "${content}" ")${delimiter}\"" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${entry} holds )${delimiter}\", which would end the constant")
    endif()
    if(name MATCHES "Files$")
      get_filename_component(folder "${entry}" DIRECTORY)
      get_filename_component(folder "${folder}" NAME)
      get_filename_component(file "${entry}" NAME)
      string(APPEND text "{\"${folder}\", \"${file}\", R\"${delimiter}(${content})${delimiter}\"},\n")
    else()
      string(APPEND text "${content}")
    endif()
  endif()
endforeach()
define_constant()

file(WRITE "${OUTPUT}"
  "// Written by cmake/WavetuneEmbedScript.cmake.\n"
  "#include \"${HEADER}\"\n\n"
  "namespace ${NAMESPACE} {\n\n"
  "${definitions}"
  "}  // namespace ${NAMESPACE}\n")
