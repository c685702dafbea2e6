// The numbers of a sample and the facts of a device, between the model and the
// messages that hold them: wavetune.v1.Sample and DeviceFacts (wire),
// StoredSample and StoredDevice (store).
//
// Functions cannot fail.
#ifndef WAVETUNE_FORMATS_MEASURED_FIELDS_H_
#define WAVETUNE_FORMATS_MEASURED_FIELDS_H_

#include <cmath>
#include <type_traits>

#include "base/copy_fields.h"
#include "model/kernel/device.h"
#include "model/kernel/sample.h"

namespace wavetune {

// Takes the measured fields; configuration and problem stay.
template <typename Message>
void TakeMeasured(const Message& proto, Sample& sample) {
#define WAVETUNE_TAKE(field) sample.field = proto.field();
  WAVETUNE_MEASURED_FIELDS(WAVETUNE_TAKE)
#undef WAVETUNE_TAKE
}

// Gives the measured fields; all else in `proto` stays.
template <typename Message>
void GiveMeasured(const Sample& sample, Message& proto) {
#define WAVETUNE_GIVE(field) proto.set_##field(sample.field);
  WAVETUNE_MEASURED_FIELDS(WAVETUNE_GIVE)
#undef WAVETUNE_GIVE
}

// The same of a device's facts.
#define WAVETUNE_DEVICE_FACTS                                                  \
  uuid, label, backend, architecture, multiprocessors, memory_bytes,           \
      partition, driver, runtime, power_limit_w, compiler,                     \
      last_level_cache_bytes, max_group_size, max_shared_memory_bytes, triton, \
      python
template <typename Message>
void TakeFacts(const Message& proto, DeviceFacts& facts) {
  TAKE_FIELDS(proto, facts, WAVETUNE_DEVICE_FACTS);
}
template <typename Message>
void GiveFacts(const DeviceFacts& facts, Message& proto) {
  GIVE_FIELDS(facts, proto, WAVETUNE_DEVICE_FACTS);
}

// Returns whether no number is infinite or none at all.
inline bool MeasuredIsFinite(const Sample& sample) {
  const auto finite = [](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      return std::isfinite(value);
    }
    return true;
  };
#define WAVETUNE_FINITE(field) &&finite(sample.field)
  return true WAVETUNE_MEASURED_FIELDS(WAVETUNE_FINITE);
#undef WAVETUNE_FINITE
}

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_MEASURED_FIELDS_H_
