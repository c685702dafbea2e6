#include "server/jobs/board_ratio.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace wavetune {
namespace {

// Logarithms of latencies at one pair, by board; the last clean sample counts.
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
  for (const auto& [board, log_us] : at) sum += log_us;
  return sum / static_cast<double>(at.size());
}

// The ratio that stands for the class.
double ClassRatio(const std::map<std::string, BoardRatio>& boards) {
  std::vector<double> known;
  for (const auto& [uuid, board] : boards) {
    if (board.known()) known.push_back(board.ratio);
  }
  if (known.empty()) return 1;
  std::sort(known.begin(), known.end());
  return known[(known.size() - 1) / 2];
}

// Also where there is none.
bool OfOneBoard(absl::Span<const SampleRecord> samples) {
  return std::all_of(samples.begin(), samples.end(),
                     [&](const SampleRecord& record) {
                       return record.device_uuid == samples[0].device_uuid;
                     });
}

}  // namespace

std::map<std::string, BoardRatio> BoardRatios(
    absl::Span<const SampleRecord> samples) {
  std::map<std::string, BoardRatio> boards;
  for (const SampleRecord& record : samples) boards[record.device_uuid];
  std::map<std::string, double> sums;
  for (const auto& [pair, at] : LogLatencies(samples)) {
    if (at.size() < 2) continue;
    const double mean = MeanOf(at);
    for (const auto& [uuid, log_us] : at) {
      sums[uuid] += log_us - mean;
      ++boards[uuid].pairs;
    }
  }
  for (auto& [uuid, board] : boards) {
    if (board.pairs > 0) board.ratio = std::exp(sums[uuid] / board.pairs);
  }
  const double of_class = ClassRatio(boards);
  for (auto& [uuid, board] : boards) {
    board.ratio = board.known() ? board.ratio / of_class : 1;
  }
  return boards;
}

void DivideBy(double ratio, Sample& sample) {
  if (ratio == 1) return;
  sample.latency_us /= ratio;
  sample.min_us /= ratio;
}

void NormaliseByBoard(std::vector<SampleRecord>& samples,
                      const std::string& reference) {
  if (OfOneBoard(samples)) return;
  std::map<std::string, BoardRatio> boards = BoardRatios(samples);
  const auto known = boards.find(reference);
  const double of_reference =
      known != boards.end() && known->second.known() ? known->second.ratio : 1;
  for (auto& [uuid, board] : boards) {
    if (board.known()) board.ratio /= of_reference;
  }
  std::erase_if(samples, [&](const SampleRecord& record) {
    return boards.at(record.device_uuid).deviates();
  });
  for (SampleRecord& record : samples) {
    DivideBy(boards.at(record.device_uuid).ratio, record.sample);
  }
}

}  // namespace wavetune
