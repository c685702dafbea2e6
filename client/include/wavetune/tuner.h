// Tuner: decides for one kernel on one device.
//
//   wavetune::Tuner gemm = client->GetTuner("gemm_f32").value();
//   wavetune::Decision d = gemm.Resolve({m, n, k});
//   int64_t block_m = gemm.Value(d, "BLOCK_M").value();
//
// A new table never takes over in the middle of something: it is staged, and
// takes over as the tuner's policy says (wavetune/activation.h).
//
//   gemm.SetPrepared(gemm.configurations());  // Compiled all of them.
//   if (auto staged = gemm.staged()) {
//     Compile(staged->unprepared);
//     gemm.Activate(staged->digest).IgnoreError();
//   }
//
// A Tuner is a small value; copies share what decides, so that a table that
// takes over does so for all of them at once. Copy it freely, use copies from
// any number of threads. It outlives its client, and then keeps its table.
#ifndef WAVETUNE_TUNER_H_
#define WAVETUNE_TUNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "wavetune/activation.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"
#include "wavetune/dimension.h"
#include "wavetune/explanation.h"
#include "wavetune/joint_problem.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Table;
class TableSlot;

class Tuner {
 public:
  // Returns the configuration with the lowest predicted latency for `problem`.
  // No RPC, lock, allocation, system call, CUDA call or throw; wait-free,
  // whatever other threads, the daemon or a table that takes over do. Not for
  // signal handlers.
  //
  // Shapes: extents in the order of dimensions(), each within its range; a
  //         repeated dimension's slot is ignored.
  // Units:  Decision::latency_us is predicted device time of one launch in
  //         microseconds.
  // Errors: cannot fail; Decision::source says how good the answer is,
  //         Decision::reason why it is the default, Decision::origin where the
  //         table came from, Decision::digest_prefix which table it was.
  // Cost:   O(macro configurations of the table). Thread-safe.
  // Source: arXiv 2604.10187, section 4.4.
  Decision Resolve(const ProblemView& problem) const noexcept;

  // Writes to decisions[i] what the launch of problems[i] shall use, where the
  // launches agree on the parameters `shared` (indices; empty: on all, which is
  // one configuration for all of them). The values with the lowest sum of
  // predictions win, over the candidates of the tuner's table, whatever its
  // specialisation. One table decides for all of them, so that ranks with one
  // digest agree on this as on Resolve (docs/rank-agreement.md).
  //
  // Each decision has its own problem's prediction, bound and source.
  //
  // `incumbent` is what would be launched otherwise, an engine's own rule or
  // file: it stays where the predicted gain over it is too small to be sure of.
  // Where the table has no prediction of it, it is not looked at: then it is
  // not among configurations().
  //
  // Errors: cannot fail. All are the default where one problem alone would be
  //         (with its reason), and where no values are legal for all of them
  //         (kNoLegalCandidate). So they are for no problems, more than
  //         kMaxJointProblems or not as many decisions (kWrongDimensionCount).
  //         An index that is no parameter's is not looked at.
  // Cost:   some ten microseconds a problem; no RPC, lock, allocation, system
  //         call or throw. Thread-safe.
  // Source: arXiv 2604.10187, section 4.4. Deviation: sums of predictions
  //         (docs/decisions/0039).
  void ResolveTogether(absl::Span<const JointProblem> problems,
                       absl::Span<const int> shared,
                       absl::Span<Decision> decisions,
                       const Configuration* incumbent = nullptr) const noexcept;

  // Returns each macro configuration's coordinates and prediction, best first.
  // Allocates; for people.
  std::vector<ExplainedGroup> Explain(const ProblemView& problem) const;

  // Returns the portfolio: all configurations that Resolve can answer with the
  // current table for the specialisation, the default included. For compiling
  // ahead of time and capturing graphs.
  std::vector<Configuration> configurations() const;

  // Names of a Configuration's values, and the dimensions of a problem, in
  // order. The same for every table of the tuner.
  const std::vector<std::string>& parameters() const;
  const std::vector<Dimension>& dimensions() const;

  // Returns a parameter's index in a Configuration, or -1, which is no index:
  // look at it once, at the start. On a launch path, the fastest way to values.
  int ParameterIndex(absl::string_view name) const;

  // Returns a decision's value of a parameter. Errors: NOT_FOUND for a name
  // that the kernel does not have, with the nearest. Cost: a comparison with
  // each name.
  absl::StatusOr<int64_t> Value(const Decision& decision,
                                absl::string_view parameter) const;

  // The default configuration, declared by the kernel's author.
  Configuration default_configuration() const;

  // The table behind the decisions now, for code built from this tree
  // (model/table/table.h); nullptr where there is none.
  std::shared_ptr<const Table> table() const;

  const std::string& kernel() const;
  const std::string& specialisation() const;
  // Hex digest of the table that decides now; empty where there is none.
  std::string digest() const;
  TableOrigin origin() const;
  // Returns whether the table was measured in another environment (driver,
  // runtime, power limit) than the present one, or for another version of the
  // kernel or compiler. It says so as far as the server of the table knew.
  bool stale() const;
  // Returns what differs: "driver \"580\", now \"590\"". Empty where the table
  // is not stale, or where an older daemon does not say.
  std::string stale_reason() const;

  // Returns the class of devices that the table is for:
  // "backend=cuda;arch=sm_90;mp=132;...". Empty where there is no table.
  std::string silicon_key() const;
  // Returns the compiler that the table was measured with: "Triton 3.6.0, ...".
  // Empty where nobody says: there is no table, or it is from a table file.
  std::string compiler() const;

  ActivationPolicy activation() const;

  // Declares the configurations that the application can launch; replaces the
  // earlier ones. With kAutomatic a staged table whose configurations are all
  // among them takes over at once. Nothing counts as prepared before the first
  // call, unless TunerOptions::prepared is given.
  void SetPrepared(const std::vector<Configuration>& configurations);

  // Returns the table that waits to take over, if there is one.
  std::optional<StagedTable> staged() const;

  // Lets the staged table take over, with every policy but kPinned. Also OK
  // where it decides already. Errors, which leave the current table:
  // NOT_FOUND where that digest is not staged (says which is);
  // FAILED_PRECONDITION for a pinned tuner. Cost: a few microseconds; no RPC.
  absl::Status Activate(absl::string_view digest);

  // With kStepBoundary, lets a staged table take over; does nothing with other
  // policies. Returns whether one took over. Cost: nanoseconds where nothing is
  // staged; no RPC.
  bool StepBoundary();

 private:
  friend class Client;
  explicit Tuner(std::shared_ptr<TableSlot> slot) : slot_(std::move(slot)) {}

  std::shared_ptr<TableSlot> slot_;
};

}  // namespace wavetune

#endif  // WAVETUNE_TUNER_H_
