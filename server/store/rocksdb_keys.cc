#include "server/store/rocksdb_keys.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace wavetune {
namespace {

void AppendBigEndian(uint64_t number, int bytes, std::string& key) {
  for (int i = bytes - 1; i >= 0; --i) {
    key.push_back(static_cast<char>((number >> (8 * i)) & 0xff));
  }
}

void AppendText(absl::string_view text, std::string& key) {
  AppendBigEndian(text.size(), 4, key);
  absl::StrAppend(&key, text);
}

constexpr size_t kNumberBytes = 8;

// Moves what AppendText wrote from the beginning of `key` to `text`. Returns
// whether it was there.
bool ConsumeText(absl::string_view& key, std::string& text) {
  constexpr size_t kLengthBytes = 4;
  if (key.size() < kLengthBytes) return false;
  size_t size = 0;
  for (char byte : key.substr(0, kLengthBytes)) {
    size = size << 8 | static_cast<unsigned char>(byte);
  }
  if (key.size() - kLengthBytes < size) return false;
  text = std::string(key.substr(kLengthBytes, size));
  key.remove_prefix(kLengthBytes + size);
  return true;
}

}  // namespace

std::string BigEndian(uint64_t number) {
  std::string bytes;
  AppendBigEndian(number, kNumberBytes, bytes);
  return bytes;
}

std::optional<uint64_t> TrailingNumber(absl::string_view key) {
  if (key.size() < kNumberBytes) return std::nullopt;
  uint64_t number = 0;
  for (char byte : key.substr(key.size() - kNumberBytes)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

std::string ProfileKeyPart(const ProfileKey& key) {
  std::string part;
  AppendText(key.kernel, part);
  AppendText(key.fingerprint, part);
  AppendText(key.silicon_key, part);
  AppendText(key.environment_key, part);
  return part;
}

std::string GenerationPrefix(const ProfileKey& key) {
  return absl::StrCat(kGenerationsPrefix, ProfileKeyPart(key));
}

std::string GenerationKey(const ProfileKey& key, uint64_t generation) {
  return absl::StrCat(GenerationPrefix(key), BigEndian(generation));
}

std::optional<ProfileKey> KeyOfGeneration(absl::string_view generation_key) {
  ProfileKey key;
  if (absl::ConsumePrefix(&generation_key, kGenerationsPrefix) &&
      ConsumeText(generation_key, key.kernel) &&
      ConsumeText(generation_key, key.fingerprint) &&
      ConsumeText(generation_key, key.silicon_key) &&
      ConsumeText(generation_key, key.environment_key) &&
      generation_key.size() == kNumberBytes) {
    return key;
  }
  return std::nullopt;
}

std::string EntryPrefix(const ProfileKey& key, uint64_t generation) {
  return EntryPrefixOfGenerationKey(GenerationKey(key, generation));
}

std::string EntryPrefix(const ProfileKey& key, uint64_t generation,
                        SampleEntry kind) {
  return absl::StrCat(EntryPrefix(key, generation),
                      std::string(1, static_cast<char>(kind)));
}

std::string EntryPrefixOfGenerationKey(absl::string_view generation_key) {
  return absl::StrCat(kEntriesPrefix,
                      generation_key.substr(kGenerationsPrefix.size()));
}

std::optional<SampleEntry> EntryKind(absl::string_view entry_key) {
  if (entry_key.size() < kEntriesPrefix.size() + 1 + 2 * kNumberBytes) {
    return std::nullopt;
  }
  const char kind = entry_key[entry_key.size() - kNumberBytes - 1];
  if (kind == static_cast<char>(SampleEntry::kCandidate)) {
    return SampleEntry::kCandidate;
  }
  if (kind == static_cast<char>(SampleEntry::kSample)) {
    return SampleEntry::kSample;
  }
  return std::nullopt;
}

std::string ServingKey(const ProfileKey& key) {
  return absl::StrCat(kServingPrefix, ProfileKeyPart(key));
}

std::string WithdrawnKey(const ProfileKey& key) {
  return absl::StrCat(kWithdrawnPrefix, ProfileKeyPart(key));
}

std::string PayloadKey(absl::string_view digest) {
  return absl::StrCat(kPayloadPrefix, digest);
}

std::string HistoryKey(uint64_t epoch) {
  return absl::StrCat(kHistoryPrefix, BigEndian(epoch));
}

std::string PinKey(absl::string_view kernel, absl::string_view silicon_key) {
  std::string key(kPinPrefix);
  AppendText(kernel, key);
  AppendText(silicon_key, key);
  return key;
}

std::string RejectedPrefix(absl::string_view kernel,
                           absl::string_view silicon_key) {
  std::string key(kRejectedPrefix);
  AppendText(kernel, key);
  AppendText(silicon_key, key);
  return key;
}

std::string RejectedKey(const TableRecord& record) {
  return absl::StrCat(RejectedPrefix(record.key.kernel, record.key.silicon_key),
                      BigEndian(record.job_id));
}

std::string WorkloadKey(absl::string_view name) {
  std::string key(kWorkloadPrefix);
  AppendText(name, key);
  return key;
}

std::string FleetHeadKey(absl::string_view key_in_registry) {
  std::string key(kFleetHeadPrefix);
  AppendText(key_in_registry, key);
  return key;
}

std::string EventKey(uint64_t id) {
  return absl::StrCat(kEventPrefix, BigEndian(id));
}

std::string UsageKey(absl::string_view kernel, absl::string_view silicon_key) {
  std::string key(kUsagePrefix);
  AppendText(kernel, key);
  AppendText(silicon_key, key);
  return key;
}

}  // namespace wavetune
