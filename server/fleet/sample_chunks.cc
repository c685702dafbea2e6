#include "server/fleet/sample_chunks.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/fleet/fleet_profile.h"
#include "server/fleet/placed_content.h"
#include "server/fleet/registry_bounds.h"
#include "server/store/stored_records.h"

namespace wavetune {
namespace {

constexpr char kChunkPurpose[] = "chunk";
constexpr size_t kPageSamples = 1000;
// A chunk has another sample where it is not full yet.
constexpr FleetBounds kChunkBounds{.entry_bytes = 2 * SampleChunks::kMostBytes,
                                   .all_bytes = size_t{128} << 20};

// No device takes two samples of one pair at one moment.
using Identity = std::tuple<std::string, int64_t, Configuration, Problem>;
Identity IdentityOf(const SampleRecord& record) {
  return {record.device_uuid, record.measured_at_us,
          record.sample.configuration, record.sample.problem};
}

}  // namespace

absl::StatusOr<int64_t> SampleChunks::Export(const ProfileKey& key,
                                             const std::string& profile,
                                             uint64_t generation,
                                             Cursor& cursor) const {
  int64_t exported = 0;
  while (true) {
    ASSIGN_OR_RETURN(
        const SamplePage page,
        options_.samples->LoadPage(key, generation, cursor.page, kPageSamples));
    Cursor next = cursor;
    v1::FleetChunkContent content;
    size_t bytes = 0;
    for (; next.read < page.samples.size() && bytes < kMostBytes; ++next.read) {
      const SampleRecord& record = page.samples[next.read];
      if (record.job_id == 0) continue;
      *content.add_samples() = EncodeStoredSample(record);
      bytes += content.samples(content.samples_size() - 1).size();
    }
    const bool whole = next.read >= page.samples.size();
    if (whole && page.next != 0) {
      next.page = page.next;
      next.read = 0;
    }
    if (content.samples_size() > 0) {
      // Another one than those of before a restart.
      next.chunk = std::max(cursor.chunk + 1, options_.clock->NowUs());
      const std::string place = absl::StrCat(ChunksPrefix(key, profile),
                                             options_.node, "/", next.chunk);
      content.set_kernel(key.kernel);
      content.set_fingerprint(key.fingerprint);
      content.set_silicon_key(key.silicon_key);
      content.set_environment_key(key.environment_key);
      exported += content.samples_size();
      RETURN_IF_ERROR(
          options_.registry
              ->Commit({{.key = place,
                         .value = SignPlaced(
                             kChunkPurpose, {options_.fleet, options_.node},
                             place, *options_.key, std::move(content)),
                         .expected = 0}})
              .status());
    }
    cursor = next;
    if (whole && page.next == 0) return exported;
  }
}

absl::StatusOr<std::vector<SampleRecord>> SampleChunks::Read(
    const ProfileKey& key, const FleetEntry& chunk) const {
  ASSIGN_OR_RETURN(const auto read, ReadPlaced<v1::FleetChunkContent>(
                                        kChunkPurpose, options_.fleet, chunk,
                                        *options_.trust, key.silicon_key));
  const v1::FleetChunkContent& content = read.content;
  if (ProfileKey{content.kernel(), content.fingerprint(), content.silicon_key(),
                 content.environment_key()} != key) {
    return absl::DataLossError(
        absl::StrCat("what is at ", chunk.key, " are no samples of it"));
  }
  std::vector<SampleRecord> samples;
  for (const std::string& bytes : content.samples()) {
    RETURN_IF_ERROR(CheckEntry(chunk.key, bytes, kMostParsedBytes,
                               *v1::StoredSample::descriptor())
                        .status());
    ASSIGN_OR_RETURN(samples.emplace_back(), DecodeStoredSample(bytes));
    samples.back().job_id = 0;
  }
  return samples;
}

absl::StatusOr<SampleChunks::Imported> SampleChunks::Import(
    const ProfileKey& key, const std::string& profile,
    uint64_t generation) const {
  Imported imported;
  std::set<Identity> known;
  bool loaded = false;
  const auto take = [&](const FleetEntry& chunk) -> absl::Status {
    absl::StatusOr<std::vector<SampleRecord>> samples = Read(key, chunk);
    if (!samples.ok()) {
      if (imported.refused++ == 0)
        imported.why = std::string(samples.status().message());
      return absl::OkStatus();
    }
    if (!std::exchange(loaded, true)) {
      ASSIGN_OR_RETURN(const SampleSet stored,
                       options_.samples->Load(key, generation));
      for (const SampleRecord& record : stored.samples)
        known.insert(IdentityOf(record));
    }
    std::erase_if(*samples, [&](const SampleRecord& record) {
      return !known.insert(IdentityOf(record)).second;
    });
    if (samples->empty()) return absl::OkStatus();
    imported.samples += static_cast<int64_t>(samples->size());
    return options_.samples->Append(key, generation, *samples, {});
  };
  // Each is stored and let go.
  absl::Status stored;
  RETURN_IF_ERROR(options_.registry
                      ->Read(ChunksPrefix(key, profile), kChunkBounds,
                             [&](const FleetEntry& chunk) {
                               if (stored.ok()) stored = take(chunk);
                             })
                      .status());
  RETURN_IF_ERROR(stored);
  return imported;
}

}  // namespace wavetune
