// LayerDecisions: what is decided for the two products of an expert layer, by
// the number of tokens that enter it.
//
// Only the number is known, so slots are spread evenly (BalancedSlots): an
// engine that knows the routing asks with it (wavetune.vllm).
//
// Thread safety: immutable.
#ifndef WAVETUNE_CLI_EXPORT_LAYER_DECISIONS_H_
#define WAVETUNE_CLI_EXPORT_LAYER_DECISIONS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "cli/output.h"
#include "formats/workload/model_layers.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/served_layers.h"
#include "wavetune/decision.h"

namespace wavetune::cli {

// Of one number of tokens.
struct LayerDecision {
  Decision gate_up;
  Decision down;
};

// What the two launches agree on.
enum class SharedByProducts {
  kAll,      // One configuration.
  kRowTile,  // BLOCK_SIZE_M alone: both read rows in the order it gives.
};

class LayerDecisions {
 public:
  // Decides at 1 to `most` tokens. `moe` is the table's (EngineKernel). Cannot
  // fail: where nothing can be decided it is the default, and says why. Cost:
  // some twenty microseconds a token count.
  LayerDecisions(const CompiledTable& table, const ServedMoe& moe,
                 const MoeLayer& layer, SharedByProducts shared, int64_t most);

  int64_t most() const { return static_cast<int64_t>(decisions_.size()); }
  const LayerDecision& At(int64_t tokens) const {
    return decisions_[static_cast<size_t>(tokens) - 1];
  }

  // The configurations of each product at 1, 2, ... tokens.
  std::vector<Configuration> GateUp() const;
  std::vector<Configuration> Down() const;

  // Token counts at which there was no answer, and the reason of the first.
  int64_t defaults() const { return defaults_; }
  DefaultReason default_reason() const { return default_reason_; }
  // Token counts at which a product is outside of what was measured.
  int64_t extrapolated() const { return extrapolated_; }

 private:
  std::vector<LayerDecision> decisions_;
  int64_t defaults_ = 0;
  DefaultReason default_reason_ = DefaultReason::kNone;
  int64_t extrapolated_ = 0;
};

// Writes to `err` where a layer has no answer of its own, or one beyond what
// was measured. Errors: FAILED_PRECONDITION where it has none at all, and why.
absl::Status WarnOfGaps(Output& err, const MoeLayer& layer,
                        const LayerDecisions& decisions);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_LAYER_DECISIONS_H_
