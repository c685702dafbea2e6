// KeyDifference: what differs between two canonical keys of a device, in words.
//
//   KeyDifference("driver=580;runtime=13.0;power_w=700",
//                 "driver=590;runtime=13.0;power_w=700");
//   // driver "580", now "590"
//
// Why: "stale" alone leaves people to compare two long keys by eye.
#ifndef WAVETUNE_MODEL_KERNEL_KEY_DIFFERENCE_H_
#define WAVETUNE_MODEL_KERNEL_KEY_DIFFERENCE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace wavetune {

// Returns the parts of two keys (EnvironmentKey, SiliconKey of
// model/kernel/device.h) that differ, `then` first; empty where the keys are
// equal. Keys of another form are shown whole. Pure; cannot fail.
std::string KeyDifference(absl::string_view then, absl::string_view now);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KEY_DIFFERENCE_H_
