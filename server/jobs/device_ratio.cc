#include "server/jobs/device_ratio.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace wavetune {
namespace {

// Logarithms of latencies at one pair, by device; the last clean sample counts.
using AtPair = std::map<std::string, double>;

std::map<std::pair<Configuration, Problem>, AtPair> LogLatencies(
    absl::Span<const SampleRecord> samples) {
  std::map<std::pair<Configuration, Problem>, AtPair> pairs;
  for (const SampleRecord& record : samples) {
    const Sample& sample = record.sample;
    if (sample.suspect || !(sample.latency_us > 0)) continue;
    pairs[{sample.configuration, sample.problem}][record.device_uuid] =
        std::log(sample.latency_us);
  }
  return pairs;
}

double MeanOf(const AtPair& at) {
  double sum = 0;
  for (const auto& [device, log_us] : at) sum += log_us;
  return sum / static_cast<double>(at.size());
}

// The ratio that stands for the class.
double ClassRatio(const std::map<std::string, DeviceRatio>& devices) {
  std::vector<double> known;
  for (const auto& [uuid, device] : devices) {
    if (device.known()) known.push_back(device.ratio);
  }
  if (known.empty()) return 1;
  std::sort(known.begin(), known.end());
  return known[(known.size() - 1) / 2];
}

// Also where there is none.
bool OfOneDevice(absl::Span<const SampleRecord> samples) {
  return std::all_of(samples.begin(), samples.end(),
                     [&](const SampleRecord& record) {
                       return record.device_uuid == samples[0].device_uuid;
                     });
}

}  // namespace

std::map<std::string, DeviceRatio> DeviceRatios(
    absl::Span<const SampleRecord> samples) {
  std::map<std::string, DeviceRatio> devices;
  for (const SampleRecord& record : samples) devices[record.device_uuid];
  std::map<std::string, double> sums;
  for (const auto& [pair, at] : LogLatencies(samples)) {
    if (at.size() < 2) continue;
    const double mean = MeanOf(at);
    for (const auto& [uuid, log_us] : at) {
      sums[uuid] += log_us - mean;
      ++devices[uuid].pairs;
    }
  }
  for (auto& [uuid, device] : devices) {
    if (device.pairs > 0) device.ratio = std::exp(sums[uuid] / device.pairs);
  }
  const double of_class = ClassRatio(devices);
  for (auto& [uuid, device] : devices) {
    device.ratio = device.known() ? device.ratio / of_class : 1;
  }
  return devices;
}

void DivideBy(double ratio, Sample& sample) {
  if (ratio == 1) return;
  sample.latency_us /= ratio;
  sample.min_us /= ratio;
}

void NormaliseByDevice(std::vector<SampleRecord>& samples,
                       const std::string& reference) {
  if (OfOneDevice(samples)) return;
  std::map<std::string, DeviceRatio> devices = DeviceRatios(samples);
  const auto known = devices.find(reference);
  const double of_reference =
      known != devices.end() && known->second.known() ? known->second.ratio : 1;
  for (auto& [uuid, device] : devices) {
    if (device.known()) device.ratio /= of_reference;
  }
  std::erase_if(samples, [&](const SampleRecord& record) {
    return devices.at(record.device_uuid).deviates();
  });
  for (SampleRecord& record : samples) {
    DivideBy(devices.at(record.device_uuid).ratio, record.sample);
  }
}

}  // namespace wavetune
