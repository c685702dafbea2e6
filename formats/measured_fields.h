// The numbers of a sample, between the model and the messages that hold them:
// wavetune.v1.Sample (wire) and StoredSample (store).
//
// Functions cannot fail.
#ifndef WAVETUNE_FORMATS_MEASURED_FIELDS_H_
#define WAVETUNE_FORMATS_MEASURED_FIELDS_H_

#include <cmath>
#include <type_traits>

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
