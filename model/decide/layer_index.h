// LayerIndex: finds what a sub-table says of a problem's layer
// (SubTable::layers).
//
//   LayerIndex layers(sub);
//   const int group = layers.GroupAt(problem.extents.data());
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_DECIDE_LAYER_INDEX_H_
#define WAVETUNE_MODEL_DECIDE_LAYER_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/table/table.h"
#include "wavetune/dimension.h"

namespace wavetune {

class LayerIndex {
 public:
  // `sub` keeps the rules of CheckTable; it need not outlive this.
  explicit LayerIndex(const SubTable& sub);

  bool empty() const { return layers_.empty(); }

  // Returns the group that serves the problem, or -1: its layer is not known,
  // or not for its rows' extent. `extents` are as many as the kernel's
  // dimensions, any numbers. Cannot fail. Cost: a look-up (at worst, in tables
  // made for it, one comparison per layer), and a binary search in the layer's
  // spans; no lock, allocation or system call.
  int GroupAt(const int64_t* extents) const noexcept;

 private:
  struct Layer {
    std::array<int64_t, kMaxDimensions> extents{};
    int64_t first = 0;
    size_t begin = 0;  // Its spans: from begin to end.
    size_t end = 0;
  };

  uint64_t HashOf(const int64_t* extents) const noexcept;
  bool Matches(const Layer& layer, const int64_t* extents) const noexcept;

  size_t dimensions_ = 0;
  size_t row_dimension_ = 0;
  std::array<uint64_t, kMaxDimensions> factors_{};  // 0 for the rows'.
  std::vector<Layer> layers_;
  std::vector<int64_t> last_;  // All spans' ends.
  std::vector<uint8_t> group_;
  int hash_bits_ = 0;
  std::vector<int16_t> slots_;  // Index of a layer, or -1; a power of two, at
                                // most half full.
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_LAYER_INDEX_H_
