// Rewriter: a text as authors write it, made one that protobuf reads.
//
//   tiles: "ceil_div(m, BLOCK_M)"  becomes
//   tiles: { text { text: "ceil_div(m, BLOCK_M)" at: 8 } }
//
// Thread safety: used by one thread.
#ifndef WAVETUNE_FORMATS_MANIFEST_TEXT_REWRITER_H_
#define WAVETUNE_FORMATS_MANIFEST_TEXT_REWRITER_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace wavetune {

class TextRewriter {
 public:
  // `text` must outlive this; `root` describes the message that it is of.
  TextRewriter(absl::string_view text,
               const google::protobuf::Descriptor* root);

  const std::string& result() const { return result_; }

  // Returns where in the text byte `at` of the result stands.
  size_t Original(size_t at) const;

 private:
  // A message that is being read, and the field of it that was named last.
  struct Frame {
    const google::protobuf::Descriptor* message = nullptr;
    const google::protobuf::FieldDescriptor* field = nullptr;
  };

  // Copies what begins at `begin`; returns where it ends.
  size_t Copy(size_t begin);
  size_t CopyStrings(size_t begin, size_t end);
  // Appends what the text does not have.
  void Insert(absl::string_view added);

  absl::string_view text_;
  std::vector<Frame> frames_;
  std::string result_;
  // (byte of the result, how many bytes were inserted before it).
  std::vector<std::pair<size_t, size_t>> shifts_;
};

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_MANIFEST_TEXT_REWRITER_H_
