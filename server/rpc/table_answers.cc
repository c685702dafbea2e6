#include "server/rpc/table_answers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "formats/foreign_text.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "proto/wavetune/v1/table_service.pb.h"

namespace wavetune {
namespace {

using google::protobuf::internal::WireFormatLite;
using SharedTable = std::shared_ptr<const CompiledTable>;

// Returns `others` and what stands before a field of `size` bytes.
std::string BytesBefore(int field, size_t size,
                        const v1::GetTableResponse& others) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  others.SerializeToCodedStream(&out);
  out.WriteTag(WireFormatLite::MakeTag(
      field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint32(static_cast<uint32_t>(size));
  out.Trim();
  return bytes;
}

std::string HeadOf(FoundTable& found) {
  EscapeForeignText(&found.info);
  v1::GetTableResponse others;
  others.mutable_info()->Swap(&found.info);
  std::string head = BytesBefore(v1::GetTableResponse::kPayloadFieldNumber,
                                 found.table->payload().size(), others);
  others.mutable_info()->Swap(&found.info);
  return head;
}

void LetGo(void* table) { delete static_cast<SharedTable*>(table); }

// The payload in place; the slice holds its table.
grpc::Slice PayloadOf(SharedTable table) {
  const std::string& payload = table->payload();
  // gRPC only reads what it sends.
  return {const_cast<char*>(payload.data()), payload.size(), LetGo,
          new SharedTable(std::move(table))};
}

grpc::ByteBuffer Joined(const grpc::Slice& head, SharedTable table) {
  const grpc::Slice slices[] = {head, PayloadOf(std::move(table))};
  return {slices, 2};
}

// Small requests come as one slice; others are none that is kept.
std::optional<grpc::Slice> AsOneSlice(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  if (bytes.Length() > TableAnswers::kMostAskedBytes ||
      !bytes.TrySingleSlice(&slice).ok()) {
    return std::nullopt;
  }
  return slice;
}

absl::string_view TextOf(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

template <typename T>
bool IsSame(const std::weak_ptr<T>& a, const std::shared_ptr<T>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

grpc::ByteBuffer ToReadableBytes(FoundTable& found) {
  return Joined(grpc::Slice(HeadOf(found)), found.table);
}

bool TableAnswers::FollowFrom(const AnswerBasis& basis) const {
  return IsSame(snapshot_, basis.snapshot) && devices_ == basis.devices &&
         kernels_ == basis.kernels && default_faults_ == basis.default_faults;
}

std::optional<grpc::ByteBuffer> TableAnswers::Find(
    const AnswerBasis& now, const grpc::ByteBuffer& asked) {
  const std::optional<grpc::Slice> slice = AsOneSlice(asked);
  if (!slice) return std::nullopt;
  std::lock_guard lock(mutex_);
  if (!FollowFrom(now)) return std::nullopt;
  const auto entry = entries_.find(TextOf(*slice));
  if (entry == entries_.end()) return std::nullopt;
  SharedTable table = entry->second.table.lock();
  if (table == nullptr) return std::nullopt;
  return Joined(entry->second.head, std::move(table));
}

void TableAnswers::Keep(const AnswerBasis& basis, const grpc::ByteBuffer& asked,
                        FoundTable& found) {
  const std::vector<ServingTable>& serving = basis.snapshot->tables;
  const bool serves = std::any_of(
      serving.begin(), serving.end(),
      [&](const ServingTable& t) { return t.table == found.table; });
  const std::optional<grpc::Slice> slice = AsOneSlice(asked);
  if (!serves || !slice) return;
  const std::string head = HeadOf(found);
  if (head.size() > kMostHeadBytes) return;
  std::lock_guard lock(mutex_);
  // So many different requests are no node's usual ones.
  if (!FollowFrom(basis) || entries_.size() >= kMostKept) entries_.clear();
  snapshot_ = basis.snapshot;
  devices_ = basis.devices;
  kernels_ = basis.kernels;
  default_faults_ = basis.default_faults;
  entries_.insert_or_assign(std::string(TextOf(*slice)),
                            Entry{grpc::Slice(head), found.table});
}

}  // namespace wavetune
