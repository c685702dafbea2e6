// What the codecs of stored messages share: the check of bytes and format, and
// problems.
#ifndef WAVETUNE_SERVER_STORE_STORED_FORMAT_H_
#define WAVETUNE_SERVER_STORE_STORED_FORMAT_H_

#include <climits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/store/stored_records.h"
#include "wavetune/problem.h"

namespace wavetune {

// Parses `bytes` and checks the format version. Errors: DATA_LOSS for bytes
// that are no such message; FAILED_PRECONDITION for a newer format.
template <typename Message>
absl::StatusOr<Message> ParseStored(absl::string_view bytes) {
  Message message;
  const std::string name = message.GetDescriptor()->name();
  if (bytes.size() > INT_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(absl::StrCat("the bytes are no ", name));
  }
  if (message.format() > kStoredFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " has format ", message.format(), ", this program knows ",
        kStoredFormat, ": upgrade the daemon to use it"));
  }
  if (message.format() != kStoredFormat) {
    return absl::DataLossError(
        absl::StrCat(name, " has no valid format: ", message.format()));
  }
  return message;
}

// Returns the bytes of a message, the same for the same content: protobuf
// writes a map's entries in any order. Cannot fail.
template <typename Message>
std::string SerializeStored(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&output);
  output.Trim();
  return bytes;
}

// Problems stand in several stored messages as the same three fields.
template <typename Message>
void SetStoredProblem(const Problem& problem, Message& stored) {
  stored.mutable_extents()->Add(problem.extents.begin(), problem.extents.end());
  stored.mutable_repeated_extents()->Add(problem.repeated.begin(),
                                         problem.repeated.end());
  stored.set_specialisation(problem.specialisation);
}
template <typename Message>
Problem ProblemFromStored(const Message& stored) {
  return {.extents = {stored.extents().begin(), stored.extents().end()},
          .repeated = {stored.repeated_extents().begin(),
                       stored.repeated_extents().end()},
          .specialisation = stored.specialisation()};
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_STORED_FORMAT_H_
