// How the devices of a class compare: how many times as long a device's
// launches take as those of the class.
//
// Devices of one class differ by a percent or two, which is as much as two good
// candidates do. So each device measures a common set, and its samples are
// divided by its ratio before they are fitted together. A device that is far
// off is left out: it is broken, badly cooled or shared.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_JOBS_DEVICE_RATIO_H_
#define WAVETUNE_SERVER_JOBS_DEVICE_RATIO_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/store/records.h"

namespace wavetune {

// Pairs that each device measures, and the clean ones of them that a ratio
// needs.
inline constexpr size_t kCommonPairs = 16;
inline constexpr int kLeastRatioPairs = 8;
// A device further from its class than this is left out (decision 65).
inline constexpr double kMostDeviation = 0.05;

struct DeviceRatio {
  double ratio = 1;  // Latency here / of the class.
  int pairs = 0;     // That it rests on; fewer than needed: it is not known.

  bool known() const { return pairs >= kLeastRatioPairs; }
  bool deviates() const {
    return known() &&
           (ratio > 1 + kMostDeviation || ratio < 1 - kMostDeviation);
  }
};

// Returns the ratio of each device that has samples; 1 of 0 pairs where a
// device shares none with another. Suspect samples do not count.
//
// The class is the device of median ratio; of an even number the faster of the
// two, since what goes wrong with a device makes it slower. A device's ratio is
// the geometric mean, over the pairs that another device measured as well, of
// its latency over the geometric mean of all devices there.
std::map<std::string, DeviceRatio> DeviceRatios(
    absl::Span<const SampleRecord> samples);

// Divides the times of a sample by a ratio. What it cost the device stays.
void DivideBy(double ratio, Sample& sample);

// Divides each sample by the ratio of its device and removes those of devices
// that deviate. They deviate from the class, or from the device `reference`
// where it is named and its ratio is known. Samples of one device alone stay as
// they are, to the last bit.
void NormaliseByDevice(std::vector<SampleRecord>& samples,
                       const std::string& reference = "");

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_DEVICE_RATIO_H_
