// Keys of the store: byte strings that sort as their parts do and cannot
// collide.
//
// Text parts are written with their length before them, numbers as eight
// big-endian bytes. docs/storage.md lists the keys; changing one needs a new
// schema version and a migration.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_KEYS_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/store/records.h"

namespace wavetune {

// What follows a generation in the key of an entry.
enum class SampleEntry : char { kCandidate = 'c', kSample = 's' };

// Eight big-endian bytes.
std::string BigEndian(uint64_t number);
// The number in the last eight bytes of a key; none in a shorter one.
std::optional<uint64_t> TrailingNumber(absl::string_view key);

// The four parts of a profile key, each after its length in four big-endian
// bytes.
std::string ProfileKeyPart(const ProfileKey& key);

// Family samples. Counts of a generation; entries of a generation.
std::string GenerationPrefix(const ProfileKey& key);
std::string GenerationKey(const ProfileKey& key, uint64_t generation);
std::string EntryPrefix(const ProfileKey& key, uint64_t generation);
// For one kind of entry, without the sequence number.
std::string EntryPrefix(const ProfileKey& key, uint64_t generation,
                        SampleEntry kind);
inline constexpr absl::string_view kGenerationsPrefix = "g";
// Returns whose a generation's key is; none where it is no such key.
std::optional<ProfileKey> KeyOfGeneration(absl::string_view generation_key);
inline constexpr absl::string_view kEntriesPrefix = "e";
// Returns the entry prefix that belongs to a generation's key.
std::string EntryPrefixOfGenerationKey(absl::string_view generation_key);
// Returns the kind in an entry's key; none where the key is not an entry's.
std::optional<SampleEntry> EntryKind(absl::string_view entry_key);

// Family tables. Serving entries; payloads; withdrawn tables; promotions and
// withdrawals by epoch; pins.
inline constexpr absl::string_view kServingPrefix = "s";
inline constexpr absl::string_view kPayloadPrefix = "p";
inline constexpr absl::string_view kWithdrawnPrefix = "w";
inline constexpr absl::string_view kHistoryPrefix = "h";
inline constexpr absl::string_view kPinPrefix = "n";
inline constexpr absl::string_view kRejectedPrefix = "r";
std::string ServingKey(const ProfileKey& key);
std::string WithdrawnKey(const ProfileKey& key);
std::string PayloadKey(absl::string_view digest);
std::string HistoryKey(uint64_t epoch);
std::string PinKey(absl::string_view kernel, absl::string_view silicon_key);
// All jobs'; one's.
std::string RejectedPrefix(absl::string_view kernel,
                           absl::string_view silicon_key);
std::string RejectedKey(const TableRecord& record);

// Family kernels. What clients ask for; models that are served; events; heads
// of the fleet.
inline constexpr absl::string_view kUsagePrefix = "u";
inline constexpr absl::string_view kWorkloadPrefix = "w";
inline constexpr absl::string_view kEventPrefix = "e";
inline constexpr absl::string_view kFleetHeadPrefix = "f";
std::string FleetHeadKey(absl::string_view key_in_registry);
std::string WorkloadKey(absl::string_view name);
std::string EventKey(uint64_t id);
std::string UsageKey(absl::string_view kernel, absl::string_view silicon_key);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_KEYS_H_
