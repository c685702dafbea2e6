// SampleHandler: what StatusService.ListSamples does. Knows no gRPC.
//
//   ASSIGN_OR_RETURN(auto listing, handler.ListSamples(request));
//   v1::ListSamplesResponse message;
//   while (listing->Next(&message).value_or(false)) Send(message);
//
// Anybody on the node may list: so samples are read from the store a message at
// a time, only as messages are sent, and few listings are open at once. One
// that waits for its reader gives its place up to who comes: readers that never
// read keep nobody out.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_SAMPLE_HANDLER_H_
#define WAVETUNE_SERVER_RPC_SAMPLE_HANDLER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "server/catalog/table_catalog.h"
#include "server/store/records.h"
#include "server/store/sample_store.h"

namespace wavetune {

// Samples and candidates behind one table, message by message. Thread-safe.
class SampleListing {
 public:
  // Samples, or candidates, in a message: about 100 KiB.
  static constexpr size_t kPerMessage = 512;

  struct Contents {
    std::vector<Dimension> dimensions;
    ProfileKey key;
    std::vector<CandidateRecord> candidates;
    std::vector<uint64_t> generations;  // In the order of listing.
  };
  // Both outlive the listing.
  SampleListing(SampleStore* store, Clock* clock)
      : store_(store), clock_(clock) {}

  // Sets the samples to list. Before the first message.
  void SetContents(Contents contents);

  // Fills the next message; false, leaving it empty, at the end. Errors: the
  // store's; RESOURCE_EXHAUSTED where the place was taken away.
  absl::StatusOr<bool> Next(v1::ListSamplesResponse* response);

  // Returns for how long the reader has not asked for the next message; 0
  // before the first, and while one is made.
  double WaitedS() const;

  // Gives the place to somebody else: Next fails from now on.
  void TakeAway();

 private:
  absl::StatusOr<bool> Fill(v1::ListSamplesResponse* response);
  // Adds samples to a message, at most `most`; returns how many.
  absl::StatusOr<size_t> AddSamples(size_t most,
                                    v1::ListSamplesResponse* response);

  SampleStore* const store_;
  Clock* const clock_;
  std::atomic<int64_t> waits_since_us_ = 0;  // 0: it does not wait.
  std::mutex mutex_;                         // Held while a message is made.
  // Guarded by mutex_.
  bool taken_away_ = false;
  Contents contents_;
  // What comes next.
  size_t candidate_ = 0;
  size_t generation_ = 0;
  uint64_t from_ = 0;  // In the generation's pages.
};

class SampleHandler {
 public:
  // Listings that may be open at once: each holds the candidates of a kernel.
  static constexpr size_t kMaxListings = 4;
  // Where all places are taken, a reader that took no message for so long loses
  // its own. Messages are 100 KiB, which a reader takes in milliseconds.
  static constexpr double kStalledS = 1;

  // All outlive the handler and its listings.
  SampleHandler(TableCatalog* tables, SampleStore* samples, Clock* clock)
      : tables_(tables), samples_(samples), clock_(clock) {}

  // Returns the samples that are stored under the key of a table: its kept
  // generations and the samples of measuring jobs. Errors: as
  // TableCatalog::Get; INVALID_ARGUMENT without a digest; RESOURCE_EXHAUSTED
  // where kMaxListings are open and all are read; the store's.
  absl::StatusOr<std::shared_ptr<SampleListing>> ListSamples(
      const v1::ListSamplesRequest& request);

 private:
  // Returns a listing without contents, in a place of its own.
  absl::StatusOr<std::shared_ptr<SampleListing>> TakePlace();

  TableCatalog* const tables_;
  SampleStore* const samples_;
  Clock* const clock_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<SampleListing>> open_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_SAMPLE_HANDLER_H_
