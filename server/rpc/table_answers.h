// TableAnswers: GetTable's answers as bytes, ready to be sent.
//
// Why: a table has up to 64 KiB, and making a message of it, serialising that
// and freeing both cost more than the rest of the call. So the payload is sent
// from where the catalogue has it. The part before it in an answer is made
// once: a node's processes all ask for the same few tables
// (docs/decisions/0060-answers-by-reference.md).
//
//   const AnswerBasis basis = handler->BasisOfAnswers();  // before it is found
//   if (auto bytes = answers.Find(basis, request)) return *bytes;
//   ...                                                   // found
//   answers.Keep(basis, request, found);
//
// Thread safety: thread-safe. Includes gRPC.
#ifndef WAVETUNE_SERVER_RPC_TABLE_ANSWERS_H_
#define WAVETUNE_SERVER_RPC_TABLE_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "server/rpc/table_handler.h"

namespace wavetune {

// Returns the v1::GetTableResponse of a table, its texts escaped (as
// EscapeForeignText; `found` has them so afterwards). The bytes hold the table:
// it lives until they are sent. Bounded calls (bounded_call.h) find this by its
// name. Cannot fail. Cost: O(info).
grpc::ByteBuffer ToReadableBytes(FoundTable& found);

class TableAnswers {
 public:
  // Requests whose answers are kept, and how long these may be: together they
  // bound the kept bytes to 2 MiB.
  static constexpr size_t kMostKept = 128;
  static constexpr size_t kMostAskedBytes = 512;
  static constexpr size_t kMostHeadBytes = 15 * 1024;

  // Returns the answer to a request, as it came; nothing where none is kept
  // that follows from `now`. Cost: one lookup, no copy of the payload.
  std::optional<grpc::ByteBuffer> Find(const AnswerBasis& now,
                                       const grpc::ByteBuffer& asked);

  // Keeps the answer that was found for a request after `basis` was looked at,
  // where it is a serving table. Drops what follows from another basis. Does
  // not keep tables alive.
  void Keep(const AnswerBasis& basis, const grpc::ByteBuffer& asked,
            FoundTable& found);

 private:
  struct Entry {
    grpc::Slice head;  // All before the payload.
    std::weak_ptr<const CompiledTable> table;
  };

  // Whether the entries follow from `basis`. Holds mutex_.
  bool FollowFrom(const AnswerBasis& basis) const;

  std::mutex mutex_;
  // Guarded by mutex_. What the entries follow from; weak, as a snapshot that
  // serves no longer is not to be kept.
  std::weak_ptr<const TableSnapshot> snapshot_;
  uint64_t devices_ = 0;
  uint64_t kernels_ = 0;
  uint64_t default_faults_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_TABLE_ANSWERS_H_
