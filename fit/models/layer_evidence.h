// LayerEvidence: what one candidate took at problems of one layer, against what
// was predicted.
//
//   LayerEvidence evidence;
//   evidence.Add({.extent = 12, .rows = 1}, /*excess=*/0.05, /*weight=*/1);
//   const double factor = evidence.FactorAt({.extent = 8, .rows = 1});
//
// A layer: problems that differ in the rows' extent alone, as those of a linear
// layer do that sees more or fewer tokens. What a wave model leaves
// unexplained there is mostly the layer's own and hardly the row extent's:
// measured at 12 rows the fastest of gemm_bf16 is the fastest at 8. Of other
// layers that says nothing: a Gaussian process on all residuals gained 0.4 % at
// known layers and nothing at others.
//
// Thread safety: values.
#ifndef WAVETUNE_FIT_MODELS_LAYER_EVIDENCE_H_
#define WAVETUNE_FIT_MODELS_LAYER_EVIDENCE_H_

#include <cstdint>
#include <vector>

namespace wavetune {

class LayerEvidence {
 public:
  // Where a problem of the layer is.
  struct Place {
    int64_t extent = 0;  // Of the rows' dimension, >= 0.
    int64_t rows = 0;    // Of tiles.
  };

  // `excess` is measured / predicted - 1, `weight` an observation's, in (0, 1].
  void Add(const Place& at, double excess, double weight);

  bool empty() const { return seen_.empty(); }

  // Returns what to multiply a prediction with: 1 without evidence, else in
  // [0.8, 2]. What was measured counts by the quotient of both extents, and
  // less with another number of rows of tiles. binary64 + - * / only.
  double FactorAt(const Place& at) const;

 private:
  struct Seen {
    Place at;
    double excess;
    double weight;
  };
  std::vector<Seen> seen_;
};

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_LAYER_EVIDENCE_H_
