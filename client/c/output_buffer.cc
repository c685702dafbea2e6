#include "client/c/output_buffer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/c/api_error.h"
#include "wavetune/wavetune.h"

namespace wavetune::c_api {

absl::Status TooSmall(absl::string_view what, size_t given, size_t needed) {
  return absl::ResourceExhaustedError(
      absl::StrCat("`", what, "` is ", given, "; give at least ", needed));
}

absl::Status CheckDigestBuffer(const char* digest, size_t size) {
  if (digest == nullptr) return IsNull("digest");
  if (size < WAVETUNE_DIGEST_SIZE)
    return TooSmall("size", size, WAVETUNE_DIGEST_SIZE);
  return absl::OkStatus();
}

absl::Status WriteDigest(absl::string_view text, char* digest, size_t size) {
  absl::Status fits = CheckDigestBuffer(digest, size);
  if (!fits.ok()) return fits;
  const size_t length = std::min<size_t>(text.size(), WAVETUNE_DIGEST_SIZE - 1);
  *std::copy_n(text.begin(), length, digest) = '\0';
  return absl::OkStatus();
}

absl::Status WriteConfigurations(
    const std::vector<Configuration>& configurations, int64_t* values,
    size_t capacity, size_t* count) {
  if (values == nullptr && capacity > 0) return IsNull("values");
  if (count == nullptr) return IsNull("count");
  *count = configurations.size();
  if (capacity == 0) return absl::OkStatus();
  if (capacity < configurations.size())
    return TooSmall("capacity", capacity, configurations.size());
  for (const Configuration& configuration : configurations) {
    values = std::copy(configuration.values().begin(),
                       configuration.values().end(), values);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Configuration>> ReadConfigurations(
    absl::string_view what, const int64_t* values, size_t count,
    size_t parameters) {
  if (values == nullptr && count > 0) return IsNull(what);
  std::vector<Configuration> configurations;
  configurations.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    configurations.emplace_back(
        absl::MakeConstSpan(values + i * parameters, parameters));
  }
  return configurations;
}

}  // namespace wavetune::c_api
