# Run with -P: writes OUTPUT, C++ that defines NAMESPACE::NAME (bytes) and NAMESPACE::NAMESize from INPUT; HEADER declares them.
file(READ "${INPUT}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}"
  "// Written by cmake/WavetuneEmbedBinaryScript.cmake.\n"
  "#include \"${HEADER}\"\n\n"
  "namespace ${NAMESPACE} {\n\n"
  "const unsigned char ${NAME}[] = {\n${bytes}};\n"
  "const size_t ${NAME}Size = ${size};\n\n"
  "}  // namespace ${NAMESPACE}\n")
