#include "fit/models/held_out.h"

namespace wavetune {
namespace {

constexpr size_t kVerificationPoints = 12;

}  // namespace

bool IsHeldOut(size_t index, size_t count) {
  size_t held_out = 0;
  if (count >= 2 * kVerificationPoints) {
    held_out = kVerificationPoints;
  } else if (count >= 8) {
    held_out = count / 4;
  }
  // Evenly: where the running share passes a whole number.
  return (index + 1) * held_out / count != index * held_out / count;
}

}  // namespace wavetune
