// What holds of everything that comes from the fleet's registry, before it is
// kept or parsed.
//
//   EntryBudget budget("heads/", bounds);
//   if (!budget.IsOurs(entry.key)) continue;
//   RETURN_IF_ERROR(budget.Take(entry));       // Too much beneath the prefix.
//   RETURN_IF_ERROR(ParseEntry(place, entry.value, kMostParsed, &message));
//
// Thread safety: EntryBudget: none; the rest are pure functions.
#ifndef WAVETUNE_SERVER_FLEET_REGISTRY_BOUNDS_H_
#define WAVETUNE_SERVER_FLEET_REGISTRY_BOUNDS_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "server/fleet/fleet_registry.h"

namespace wavetune {

// Memory that an entry may become when it is parsed; that of samples, use and
// workloads. Others are some hundred bytes.
inline constexpr size_t kMostParsedBytes = size_t{256} << 10;
inline constexpr size_t kMostParsedRecordBytes = size_t{8} << 20;

// Leaves the value out where it is too large. Cannot fail.
void CutEntry(size_t most_bytes, FleetEntry& entry);

// Keeps count of the entries beneath a prefix.
class EntryBudget {
 public:
  EntryBudget(std::string prefix, const FleetBounds& bounds)
      : prefix_(std::move(prefix)), bounds_(bounds) {}

  // Whether a key is beneath the prefix, and such as nodes write.
  bool IsOurs(absl::string_view key) const;
  // Counts an entry that is there, in the place of the one before of its key,
  // and cuts it. Errors: RESOURCE_EXHAUSTED where they are too many or too
  // large together, with what to do.
  absl::Status Take(FleetEntry& entry);
  // It is there no longer.
  void Forget(const std::string& key);
  void Clear();

 private:
  const std::string prefix_;
  const FleetBounds bounds_;
  std::map<std::string, size_t> sizes_;  // By key.
  size_t bytes_ = 0;                     // All together.
};

// Returns the memory that the entry at `place` takes when it is parsed as a
// message of `type`. Errors: DATA_LOSS for bytes that are none, or that would
// take more than `most_bytes`. Also for entries inside of a message as bytes.
absl::StatusOr<size_t> CheckEntry(absl::string_view place,
                                  absl::string_view bytes, size_t most_bytes,
                                  const google::protobuf::Descriptor& type);

// Parses the entry at `place`, whoever signed it: a key may be stolen. Errors:
// as CheckEntry. Sets `parsed_bytes`, where given, to what it takes.
absl::Status ParseEntry(absl::string_view place, absl::string_view bytes,
                        size_t most_bytes, google::protobuf::Message* message,
                        size_t* parsed_bytes = nullptr);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_REGISTRY_BOUNDS_H_
