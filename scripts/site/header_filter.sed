# Comments as Doxygen reads them: `//` becomes `///`, `/*` becomes `/**`, and an example in them code. The first comment is the file's.
1s|^// ?(.*)|/// @file\n///\n/// \1|
1s|^/\* ?(.*)|/** @file\n *\n * \1|
t
/NOLINT/d
/^\/\* ---- /d
s|^( *)//   (.*)$|\1///       \2|
t
s|^( *)//( .*)?$|\1///\2|
t
s|^ \*   (.*)$| *       \1|
t
s|(; *[^"]*)// (.*)$|\1///< \2|
s|(, *)// (.*)$|\1///< \2|
s|^( *)/\* (.*)|\1/** \2|
s|([,;] *\|[0-9] +)/\* (.*)|\1/**< \2|
