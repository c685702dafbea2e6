// Samples of a profile that is not done, in the fleet's registry: whoever goes
// on with the profile measures only what is missing.
//
//   SampleChunks chunks({.registry = &registry, .samples = &samples, …});
//   chunks.Import(key, profile, generation);        // Of who began it.
//   SampleChunks::Cursor cursor;
//   chunks.Export(key, profile, generation, cursor);    // Now and then.
//
// Each chunk is signed by the node that measured. A sample from elsewhere has
// the job number 0 here, and is not exported again.
//
// Thread safety: thread-safe, with a cursor for each thread.
#ifndef WAVETUNE_SERVER_FLEET_SAMPLE_CHUNKS_H_
#define WAVETUNE_SERVER_FLEET_SAMPLE_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/signing_key.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_trust.h"
#include "server/store/sample_store.h"

namespace wavetune {

class SampleChunks {
 public:
  // Bytes of samples in one chunk, about: a commit is to be a short one.
  static constexpr size_t kMostBytes = 128 << 10;

  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    SampleStore* samples = nullptr;
    Clock* clock = nullptr;
    std::string fleet;
    std::string node;
    const FleetTrust* trust = nullptr;
    std::shared_ptr<const SigningKey> key;  // To export with.
  };

  // How far a generation was exported.
  struct Cursor {
    uint64_t page = 0;
    size_t read = 0;    // Samples of that page.
    int64_t chunk = 0;  // Number of the last one.
  };

  // What an import found.
  struct Imported {
    int64_t samples = 0;
    int64_t refused = 0;  // Chunks.
    std::string why;      // Of the first one that was refused.
  };

  explicit SampleChunks(Options options) : options_(std::move(options)) {}

  // Writes what was measured here since the cursor, and moves it. Returns how
  // many samples. Errors: the registry's, the store's.
  absl::StatusOr<int64_t> Export(const ProfileKey& key,
                                 const std::string& profile,
                                 uint64_t generation, Cursor& cursor) const;

  // Stores the samples of the profile's chunks that are not stored yet. A chunk
  // that is not signed by who may sign for the class, or is of something else,
  // is refused. Errors: the registry's, the store's.
  absl::StatusOr<Imported> Import(const ProfileKey& key,
                                  const std::string& profile,
                                  uint64_t generation) const;

 private:
  absl::StatusOr<std::vector<SampleRecord>> Read(const ProfileKey& key,
                                                 const FleetEntry& chunk) const;

  const Options options_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_SAMPLE_CHUNKS_H_
