// Tuner: decides for one kernel on one device.
//
//   wavetune::Tuner gemm = client->GetTuner("gemm_f32").value();
//   wavetune::Decision d = gemm.Resolve({m, n, k});
//   int64_t block_m = d.configuration[gemm.ParameterIndex("BLOCK_M")];
//
// A Tuner is a small value that shares an immutable table: copy it freely, use
// copies from any number of threads. It outlives its client.
#ifndef WAVETUNE_CLIENT_TUNER_H_
#define WAVETUNE_CLIENT_TUNER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/usage/usage_recorder.h"
#include "model/compiled_table.h"
#include "model/configuration.h"
#include "model/decision.h"
#include "model/kernel_spec.h"
#include "model/problem.h"

namespace wavetune {

// Where a tuner's table came from.
enum class TableOrigin {
  kDaemon,    // Fetched now.
  kCache,     // The daemon could not be reached; the local cache had it.
  kDefaults,  // The daemon knows the kernel but has no table yet: every answer
              // is DEFAULT.
};

class Tuner {
 public:
  // Returns the configuration with the lowest predicted latency for `problem`:
  // no RPC, lock, allocation, system call or throw.
  //
  // Shapes: extents in the order of dimensions(), each within its range; a
  //         repeated dimension's slot is ignored.
  // Units:  Decision::latency_us is predicted device time of one launch in
  //         microseconds.
  // Errors: cannot fail; Decision::source says how good the answer is,
  //         Decision::reason why it is the default.
  // Cost:   O(macro configurations of the table). Thread-safe.
  // Source: arXiv 2604.10187, section 4.4.
  Decision Resolve(const ProblemView& problem) const noexcept;

  // Returns each macro configuration's coordinates and prediction, best first.
  // Allocates; for people.
  std::vector<ExplainedRow> Explain(const ProblemView& problem) const;

  // Returns the portfolio: all configurations that Resolve can answer for the
  // specialisation, the default included. For compiling ahead of time and
  // capturing graphs.
  std::vector<Configuration> configurations() const;

  // Names of a Configuration's values, and the dimensions of a problem, in
  // order.
  const std::vector<std::string>& parameters() const {
    return state_->parameters;
  }
  const std::vector<Dimension>& dimensions() const {
    return state_->dimensions;
  }

  // Returns a parameter's index in a Configuration, or -1.
  int ParameterIndex(absl::string_view name) const;

  // The default configuration, declared by the kernel's author.
  const Configuration& default_configuration() const {
    return state_->default_configuration;
  }

  // The table behind the decisions; nullptr with kDefaults. Lives as long as
  // any copy of the tuner.
  const Table* table() const {
    return state_->table == nullptr ? nullptr : &state_->table->table();
  }

  const std::string& kernel() const { return state_->kernel; }
  // Hex digest of the table; empty with kDefaults.
  std::string digest() const {
    return state_->table == nullptr ? "" : state_->table->digest();
  }
  TableOrigin origin() const { return state_->origin; }
  bool stale() const { return state_->stale; }

 private:
  friend class Client;
  struct State {
    std::string kernel;
    std::vector<std::string> parameters;
    std::vector<Dimension> dimensions;
    Configuration default_configuration;
    std::unique_ptr<const CompiledTable> table;  // nullptr with kDefaults.
    int sub_table = -1;
    TableOrigin origin = TableOrigin::kDefaults;
    bool stale = false;
    std::shared_ptr<UsageRecorder> usage;  // nullptr: nobody counts.
  };
  explicit Tuner(std::shared_ptr<const State> state)
      : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_TUNER_H_
