#include "model/decide/layer_index.h"

#include <algorithm>
#include <limits>

#include "model/table/table_check.h"

namespace wavetune {
namespace {

// Odd, with all bits mixed: the upper bits of a sum of products with them
// depend on all of each extent.
constexpr std::array<uint64_t, 8> kFactors = {
    0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU, 0xd6e8feb86659fd93U,
    0xa0761d6478bd642fU, 0xe7037ed1a0b428dbU, 0x8ebc6af09c88c6e3U,
    0x589965cc75374cc3U, 0x1d8e4e27c47d124fU};
static_assert(kFactors.size() >= kMaxDimensions);
static_assert(kMaxLayers <= std::numeric_limits<int16_t>::max());

}  // namespace

LayerIndex::LayerIndex(const SubTable& sub) {
  if (sub.layers.empty()) return;
  dimensions_ = sub.layers[0].extents.size();
  row_dimension_ = static_cast<size_t>(sub.mapping.rows->dimension);
  std::copy_n(kFactors.begin(), dimensions_, factors_.begin());
  factors_[row_dimension_] = 0;
  for (const LayerChoices& choices : sub.layers) {
    Layer& layer = layers_.emplace_back();
    std::copy(choices.extents.begin(), choices.extents.end(),
              layer.extents.begin());
    layer.first = choices.first;
    layer.begin = last_.size();
    for (const LayerSpan& span : choices.spans) {
      last_.push_back(span.last);
      group_.push_back(span.group);
    }
    layer.end = last_.size();
  }
  for (hash_bits_ = 1; size_t{1} << hash_bits_ < 2 * layers_.size();) {
    ++hash_bits_;
  }
  slots_.assign(size_t{1} << hash_bits_, -1);
  for (size_t i = 0; i < layers_.size(); ++i) {
    uint64_t slot = HashOf(layers_[i].extents.data());
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<int16_t>(i);
  }
}

uint64_t LayerIndex::HashOf(const int64_t* extents) const noexcept {
  uint64_t hash = 0;
  for (size_t d = 0; d < dimensions_; ++d) {
    hash += static_cast<uint64_t>(extents[d]) * factors_[d];
  }
  return hash >> (64 - hash_bits_);
}

bool LayerIndex::Matches(const Layer& layer,
                         const int64_t* extents) const noexcept {
  for (size_t d = 0; d < dimensions_; ++d) {
    if (d != row_dimension_ && layer.extents[d] != extents[d]) return false;
  }
  return true;
}

int LayerIndex::GroupAt(const int64_t* extents) const noexcept {
  if (layers_.empty()) return -1;
  for (uint64_t slot = HashOf(extents); slots_[slot] >= 0;
       slot = (slot + 1) & (slots_.size() - 1)) {
    const Layer& layer = layers_[static_cast<size_t>(slots_[slot])];
    if (!Matches(layer, extents)) continue;
    const int64_t rows = extents[row_dimension_];
    if (rows < layer.first) return -1;
    const int64_t* const begin = last_.data() + layer.begin;
    const int64_t* const end = last_.data() + layer.end;
    const int64_t* const found = std::lower_bound(begin, end, rows);
    return found == end ? -1
                        : group_[static_cast<size_t>(found - last_.data())];
  }
  return -1;
}

}  // namespace wavetune
