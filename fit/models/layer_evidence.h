// LayerEvidence: one candidate's measured latencies at problems of one layer,
// against the predicted ones.
//
//   LayerEvidence evidence;
//   evidence.Add({.extent = 12, .rows = 1}, /*excess=*/0.05, /*weight=*/1);
//   const double factor = evidence.FactorAt({.extent = 8, .rows = 1});
//
// The problems of a layer differ in the rows' extent alone, as a linear layer
// sees more or fewer tokens. What a wave model leaves unexplained there belongs
// to the layer and hardly to the extent: the fastest candidate at 12 rows is
// the fastest at 8. It says nothing about other layers (docs/decisions/0006).
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
    int64_t extent = 0;  // Extent of the rows' dimension, >= 0.
    int64_t rows = 0;    // Rows of tiles.
  };

  // `excess` is measured / predicted - 1, `weight` an observation's, in (0, 1].
  // Beyond kMostResidual (fit/models/uncertainty.h) either way it counts as
  // that: an outlier must neither win nor lose a layer.
  void Add(const Place& at, double excess, double weight);

  bool empty() const { return seen_.empty(); }

  // Returns what to multiply a prediction with: 1 without evidence, else
  // within kMostResidual of it. A measurement counts by the quotient of both
  // extents, and less with another number of rows of tiles. Only + - * / of
  // binary64.
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
