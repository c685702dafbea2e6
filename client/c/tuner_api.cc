// wavetune.h: what a tuner knows.
#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/c/api_error.h"
#include "client/c/handles.h"
#include "client/c/output_buffer.h"
#include "wavetune/wavetune.h"

namespace {

using wavetune::c_api::Guarded;
using wavetune::c_api::IsNull;
using wavetune::c_api::TooSmall;
using wavetune::c_api::WriteConfigurations;
using wavetune::c_api::WriteDigest;

absl::Status DimensionRange(const wavetune_tuner* tuner, size_t index,
                            int64_t* minimum, int64_t* maximum) {
  if (tuner == nullptr) return IsNull("tuner");
  if (minimum == nullptr) return IsNull("minimum");
  if (maximum == nullptr) return IsNull("maximum");
  const auto& dimensions = tuner->tuner.dimensions();
  if (index >= dimensions.size()) {
    return absl::OutOfRangeError(absl::StrCat(
        "kernel \"", tuner->tuner.kernel(), "\" has ", dimensions.size(),
        " dimensions, not one of index ", index));
  }
  *minimum = dimensions[index].min;
  *maximum = dimensions[index].max;
  return absl::OkStatus();
}

absl::Status Configurations(const wavetune_tuner* tuner, int64_t* values,
                            size_t capacity, size_t* count) {
  if (tuner == nullptr) return IsNull("tuner");
  return WriteConfigurations(tuner->tuner.configurations(), values, capacity,
                             count);
}

absl::Status DefaultConfiguration(const wavetune_tuner* tuner, int64_t* values,
                                  size_t capacity) {
  if (tuner == nullptr) return IsNull("tuner");
  if (values == nullptr) return IsNull("values");
  const wavetune::Configuration chosen = tuner->tuner.default_configuration();
  if (capacity < chosen.values().size())
    return TooSmall("capacity", capacity, chosen.values().size());
  std::copy(chosen.values().begin(), chosen.values().end(), values);
  return absl::OkStatus();
}

absl::Status Digest(const wavetune_tuner* tuner, char* digest, size_t size) {
  if (tuner == nullptr) return IsNull("tuner");
  return WriteDigest(tuner->tuner.digest(), digest, size);
}

absl::Status StaleReason(const wavetune_tuner* tuner, char* reason, size_t size,
                         size_t* length) {
  if (tuner == nullptr) return IsNull("tuner");
  if (reason == nullptr && size > 0) return IsNull("reason");
  const std::string text = tuner->tuner.stale_reason();
  if (length != nullptr) *length = text.size();
  if (size == 0) return absl::OkStatus();
  *std::copy_n(text.begin(), std::min(text.size(), size - 1), reason) = '\0';
  return absl::OkStatus();
}

}  // namespace

const char* wavetune_tuner_kernel(const wavetune_tuner* tuner) {
  return tuner == nullptr ? "" : tuner->tuner.kernel().c_str();
}

size_t wavetune_tuner_parameter_count(const wavetune_tuner* tuner) {
  return tuner == nullptr ? 0 : tuner->tuner.parameters().size();
}

const char* wavetune_tuner_parameter_name(const wavetune_tuner* tuner,
                                          size_t index) {
  if (index >= wavetune_tuner_parameter_count(tuner)) return nullptr;
  return tuner->tuner.parameters()[index].c_str();
}

int wavetune_tuner_parameter_index(const wavetune_tuner* tuner,
                                   const char* name) {
  if (tuner == nullptr || name == nullptr) return -1;
  return tuner->tuner.ParameterIndex(name);
}

size_t wavetune_tuner_dimension_count(const wavetune_tuner* tuner) {
  return tuner == nullptr ? 0 : tuner->tuner.dimensions().size();
}

const char* wavetune_tuner_dimension_name(const wavetune_tuner* tuner,
                                          size_t index) {
  if (index >= wavetune_tuner_dimension_count(tuner)) return nullptr;
  return tuner->tuner.dimensions()[index].name.c_str();
}

int wavetune_tuner_repeated_dimension(const wavetune_tuner* tuner) {
  if (tuner == nullptr) return -1;
  const auto& dimensions = tuner->tuner.dimensions();
  const auto found =
      std::find_if(dimensions.begin(), dimensions.end(),
                   [](const auto& dimension) { return dimension.repeated; });
  return found == dimensions.end()
             ? -1
             : static_cast<int>(found - dimensions.begin());
}

wavetune_status wavetune_tuner_dimension_range(const wavetune_tuner* tuner,
                                               size_t index, int64_t* minimum,
                                               int64_t* maximum) {
  return Guarded(
      [&] { return DimensionRange(tuner, index, minimum, maximum); });
}

wavetune_status wavetune_tuner_configurations(const wavetune_tuner* tuner,
                                              int64_t* values, size_t capacity,
                                              size_t* count) {
  return Guarded(
      [&] { return Configurations(tuner, values, capacity, count); });
}

wavetune_status wavetune_tuner_default_configuration(
    const wavetune_tuner* tuner, int64_t* values, size_t capacity) {
  return Guarded([&] { return DefaultConfiguration(tuner, values, capacity); });
}

wavetune_status wavetune_tuner_digest(const wavetune_tuner* tuner, char* digest,
                                      size_t size) {
  return Guarded([&] { return Digest(tuner, digest, size); });
}

int wavetune_tuner_origin(const wavetune_tuner* tuner) {
  if (tuner == nullptr) return WAVETUNE_ORIGIN_DEFAULTS;
  return static_cast<int>(tuner->tuner.origin());
}

int wavetune_tuner_stale(const wavetune_tuner* tuner) {
  return tuner != nullptr && tuner->tuner.stale() ? 1 : 0;
}

wavetune_status wavetune_tuner_stale_reason(const wavetune_tuner* tuner,
                                            char* reason, size_t size,
                                            size_t* length) {
  return Guarded([&] { return StaleReason(tuner, reason, size, length); });
}
