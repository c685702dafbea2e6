// Text format of lite code: read by a message that is made from descriptors of
// this library's own, in a pool of its own. The process-wide pool, where only
// one copy of a descriptor may be, stays as it is.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/embedded/api_descriptors.h"
#include "formats/text_format.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"

namespace wavetune {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::DynamicMessageFactory;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::Message;

// Adds all files to the pool. protoc writes a file after what it imports.
absl::Status AddApi(DescriptorPool* pool) {
  FileDescriptorSet set;
  if (!set.ParseFromArray(kApiDescriptors,
                          static_cast<int>(kApiDescriptorsSize)))
    return absl::InternalError("the API's descriptors are damaged");
  for (const FileDescriptorProto& file : set.file()) {
    if (pool->BuildFile(file) == nullptr) {
      return absl::InternalError(
          absl::StrCat("the descriptors of ", file.name(), " do not fit"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseTextFormat(absl::string_view text,
                             google::protobuf::MessageLite* message) {
  // Built anew for every text: a manifest is read once in a process.
  DescriptorPool pool;
  if (absl::Status added = AddApi(&pool); !added.ok()) return added;
  const Descriptor* descriptor =
      pool.FindMessageTypeByName(message->GetTypeName());
  if (descriptor == nullptr) {
    return absl::InternalError(
        absl::StrCat("no descriptor of ", message->GetTypeName()));
  }
  DynamicMessageFactory factory(&pool);
  const std::unique_ptr<Message> dynamic(
      factory.GetPrototype(descriptor)->New());
  absl::Status parsed = ParseTextWithDescriptor(text, dynamic.get());
  if (!parsed.ok()) return parsed;
  if (!message->ParseFromString(dynamic->SerializeAsString())) {
    return absl::InternalError(
        absl::StrCat(message->GetTypeName(), " does not read its own bytes"));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
