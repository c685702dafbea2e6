// How the boards of a class compare: how many times as long a board's launches
// take as those of the class.
//
// Boards of one class differ by a percent or two, which is as much as two good
// candidates do. So each board measures a common set, and its samples are
// divided by its ratio before they are fitted together. A board that is far off
// is left out: it is broken, badly cooled or shared.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_JOBS_BOARD_RATIO_H_
#define WAVETUNE_SERVER_JOBS_BOARD_RATIO_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/store/records.h"

namespace wavetune {

// Pairs that each board measures, and the clean ones of them that a ratio
// needs.
inline constexpr size_t kCommonPairs = 16;
inline constexpr int kLeastRatioPairs = 8;
// A board further from its class than this is left out (decision 65).
inline constexpr double kMostDeviation = 0.05;

struct BoardRatio {
  double ratio = 1;  // Latency here / of the class.
  int pairs = 0;     // That it rests on; fewer than needed: it is not known.

  bool known() const { return pairs >= kLeastRatioPairs; }
  bool deviates() const {
    return known() &&
           (ratio > 1 + kMostDeviation || ratio < 1 - kMostDeviation);
  }
};

// Returns the ratio of each board that has samples; 1 of 0 pairs where a board
// shares none with another. Suspect samples do not count.
//
// The class is the board of median ratio; of an even number the faster of the
// two, since what goes wrong with a board makes it slower. A board's ratio is
// the geometric mean, over the pairs that another board measured as well, of
// its latency over the geometric mean of all boards there.
std::map<std::string, BoardRatio> BoardRatios(
    absl::Span<const SampleRecord> samples);

// Divides the times of a sample by a ratio. What it cost the device stays.
void DivideBy(double ratio, Sample& sample);

// Divides each sample by the ratio of its board and removes those of boards
// that deviate. They deviate from the class, or from the board `reference`
// where it is named and its ratio is known. Samples of one board alone stay as
// they are, to the last bit.
void NormaliseByBoard(std::vector<SampleRecord>& samples,
                      const std::string& reference = "");

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_BOARD_RATIO_H_
