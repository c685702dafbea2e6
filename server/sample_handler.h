// SampleHandler: what StatusService.ListSamples does. Knows no gRPC.
//
//   ASSIGN_OR_RETURN(auto listing, handler.ListSamples(request));
//   v1::ListSamplesResponse message;
//   while (listing->Next(&message).value_or(false)) Send(message);
//
// Anybody on the node may list: so samples are read from the store a message at
// a time, only as messages are sent, and few listings are open at once.
//
// Thread safety: thread-safe; a listing is used by one thread at a time.
#ifndef WAVETUNE_SERVER_SAMPLE_HANDLER_H_
#define WAVETUNE_SERVER_SAMPLE_HANDLER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "server/registry/records.h"
#include "server/registry/sample_store.h"
#include "server/registry/table_catalog.h"

namespace wavetune {

// Samples and candidates behind one table, message by message.
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
  // `store` outlives the listing.
  SampleListing(SampleStore* store, Contents contents,
                std::shared_ptr<const void> permit)
      : store_(store),
        contents_(std::move(contents)),
        permit_(std::move(permit)) {}

  // Fills the next message; false, leaving it empty, at the end. Errors: the
  // store's.
  absl::StatusOr<bool> Next(v1::ListSamplesResponse* response);

 private:
  // Adds samples to a message, at most `most`; returns how many.
  absl::StatusOr<size_t> AddSamples(size_t most,
                                    v1::ListSamplesResponse* response);

  SampleStore* const store_;
  const Contents contents_;
  const std::shared_ptr<const void> permit_;
  // What comes next.
  size_t candidate_ = 0;
  size_t generation_ = 0;
  uint64_t from_ = 0;  // In the generation's pages.
};

class SampleHandler {
 public:
  // Listings that may be open at once.
  static constexpr int kMaxListings = 2;

  // Both outlive the handler and its listings.
  SampleHandler(TableCatalog* tables, SampleStore* samples)
      : tables_(tables), samples_(samples) {}

  // Returns what is stored under the key of a table: its kept generations and
  // what measuring jobs measured. Errors: as TableCatalog::Get;
  // INVALID_ARGUMENT without a digest; RESOURCE_EXHAUSTED where kMaxListings
  // are open; the store's.
  absl::StatusOr<std::unique_ptr<SampleListing>> ListSamples(
      const v1::ListSamplesRequest& request);

 private:
  TableCatalog* const tables_;
  SampleStore* const samples_;
  // Shared with the permits: a listing may outlive the handler.
  const std::shared_ptr<std::atomic<int>> open_ =
      std::make_shared<std::atomic<int>>(0);
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_SAMPLE_HANDLER_H_
