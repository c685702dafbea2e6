// SampleHandler: what StatusService.ListSamples does. Knows no gRPC.
//
//   ASSIGN_OR_RETURN(auto listing, handler.ListSamples(request));
//   v1::ListSamplesResponse message;
//   while (listing->Next(&message)) Send(message);
//
// Anybody on the node may list, and a listing holds a whole generation in
// memory: so few are made at a time, and messages only as they are sent.
//
// Thread safety: thread-safe; a listing is used by one thread at a time.
#ifndef WAVETUNE_SERVER_SAMPLE_HANDLER_H_
#define WAVETUNE_SERVER_SAMPLE_HANDLER_H_

#include <atomic>
#include <cstddef>
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

  SampleListing(std::vector<Dimension> dimensions, SampleSet profiled,
                std::vector<SampleRecord> measured,
                std::shared_ptr<const void> permit)
      : dimensions_(std::move(dimensions)),
        profiled_(std::move(profiled)),
        measured_(std::move(measured)),
        permit_(std::move(permit)) {}

  // Fills the next message; false, leaving it empty, at the end. Cannot fail.
  bool Next(v1::ListSamplesResponse* response);

 private:
  const std::vector<Dimension> dimensions_;
  const SampleSet profiled_;
  const std::vector<SampleRecord> measured_;
  const std::shared_ptr<const void> permit_;
  // What was sent.
  size_t candidates_ = 0;
  size_t profiled_samples_ = 0;
  size_t measured_samples_ = 0;
};

class SampleHandler {
 public:
  // Listings that may be open at once.
  static constexpr int kMaxListings = 2;

  // Both outlive the handler.
  SampleHandler(TableCatalog* tables, SampleStore* samples)
      : tables_(tables), samples_(samples) {}

  // Returns what is stored under the key of a table: its newest generation and
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
