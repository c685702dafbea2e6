#include "server/rpc/request_bounds.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

namespace wavetune {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// What protobuf 3.21 takes on x86-64, from above: an object with its pointer
// and what malloc adds; a string object; an entry of the set of unknown fields,
// which doubles as it grows.
constexpr size_t kMessageCost = 112;
constexpr size_t kTextCost = 64;
constexpr size_t kScalarCost = 48;
// A packed number of one byte is eight in memory, and a list doubles.
constexpr size_t kPackedFactor = 16;
// As deep as protobuf itself reads.
constexpr int kMaxDepth = 100;

// "4 KiB", "12.5 MiB".
std::string Size(size_t bytes) {
  const auto in = [bytes](size_t unit) {
    return std::round(static_cast<double>(bytes) / static_cast<double>(unit) *
                      10) /
           10;
  };
  if (bytes >= kMiB) return absl::StrCat(in(kMiB), " MiB");
  if (bytes >= kKiB) return absl::StrCat(in(kKiB), " KiB");
  return absl::StrCat(bytes, " bytes");
}

class CostCounter {
 public:
  CostCounter(CodedInputStream* input, size_t most)
      : input_(input), most_(most) {}

  // Counts what a message of `type` costs. False: too much, or no message.
  bool Count(const Descriptor* type, int depth) {
    if (depth > kMaxDepth) return false;
    while (const uint32_t tag = input_->ReadTag()) {
      if (!CountField(type, tag, depth) || cost_ > most_) return false;
    }
    return input_->ConsumedEntireMessage();
  }

  bool too_much() const { return cost_ > most_; }
  size_t cost() const { return cost_; }

 private:
  bool CountField(const Descriptor* type, uint32_t tag, int depth) {
    uint64_t ignored64 = 0;
    uint32_t ignored32 = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        cost_ += kScalarCost;
        return input_->ReadVarint64(&ignored64);
      case WireFormatLite::WIRETYPE_FIXED64:
        cost_ += kScalarCost;
        return input_->ReadLittleEndian64(&ignored64);
      case WireFormatLite::WIRETYPE_FIXED32:
        cost_ += kScalarCost;
        return input_->ReadLittleEndian32(&ignored32);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return CountLengthDelimited(
            type == nullptr ? nullptr
                            : type->FindFieldByNumber(
                                  WireFormatLite::GetTagFieldNumber(tag)),
            depth);
      case WireFormatLite::WIRETYPE_START_GROUP:
        // Nothing of ours has groups: what is in one is unknown, and each of
        // its fields is counted as it comes.
        cost_ += kMessageCost;
        return true;
      case WireFormatLite::WIRETYPE_END_GROUP:
        return true;
    }
    return false;
  }

  bool CountLengthDelimited(const FieldDescriptor* field, int depth) {
    uint32_t length = 0;
    if (!input_->ReadVarint32(&length) ||
        length > static_cast<uint32_t>(std::numeric_limits<int>::max())) {
      return false;
    }
    const int size = static_cast<int>(length);
    if (field != nullptr &&
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      cost_ += kMessageCost;
      const CodedInputStream::Limit limit = input_->PushLimit(size);
      const bool sound = Count(field->message_type(), depth + 1);
      input_->PopLimit(limit);
      return sound;
    }
    const bool packed = field != nullptr && field->is_packable();
    cost_ += kTextCost + (packed ? kPackedFactor : 1) * length;
    return cost_ > most_ || input_->Skip(size);
  }

  CodedInputStream* const input_;
  const size_t most_;
  size_t cost_ = 0;
};

// Errors: as CheckRequest.
absl::StatusOr<size_t> Count(const Descriptor& type,
                             google::protobuf::io::ZeroCopyInputStream* input,
                             size_t most) {
  CodedInputStream coded(input);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  CostCounter counter(&coded, most);
  if (counter.Count(&type, 0)) return counter.cost();
  if (counter.too_much()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(type.name(), " would take more than ", Size(most),
                     " of memory: it has too many entries; send less at once"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("what was sent is no ", type.name()));
}

}  // namespace

absl::StatusOr<size_t> ParsedBytes(const Descriptor& type,
                                   absl::string_view bytes, size_t most) {
  google::protobuf::io::ArrayInputStream input(bytes.data(),
                                               static_cast<int>(bytes.size()));
  return Count(type, &input, most);
}

absl::Status CheckRequest(const Descriptor& type, size_t size,
                          google::protobuf::io::ZeroCopyInputStream* input,
                          const RequestBounds& bounds) {
  if (size > bounds.wire_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(type.name(), " of ", Size(size), ": at most ",
                     Size(bounds.wire_bytes), "; send less at once"));
  }
  return Count(type, input, bounds.parsed_bytes).status();
}

}  // namespace wavetune
