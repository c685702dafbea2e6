// BenchCommandFixture: two shapes, and what a fake daemon measured there. For
// tests.
#ifndef WAVETUNE_CLI_COMMANDS_BENCH_COMMAND_FIXTURE_H_
#define WAVETUNE_CLI_COMMANDS_BENCH_COMMAND_FIXTURE_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "cli/commands/daemon_command_fixture.h"
#include "client/src/fake_node.h"

namespace wavetune::cli {

class BenchCommandFixture : public DaemonCommandFixture {
 protected:
  BenchCommandFixture() {
    AddGemm();
    shapes_ = folder_.path() + "/shapes.csv";
    std::ofstream(shapes_) << "model,m,n,k\nllama,1,2,3\nqwen,4,5,6\n";
    AddResult({1, 2, 3}, 10, 20, 10);
    AddResult({4, 5, 6}, 10, 10, 8);
    *daemon_->measured.emplace_back().mutable_job() = Job(9, v1::SUCCEEDED);
  }

  void AddResult(const std::vector<int64_t>& extents, double chosen_us,
                 double default_us, double best_us) {
    v1::MeasuredProblem& result =
        *daemon_->measured.emplace_back().mutable_result();
    const std::vector<std::string> names = {"m", "n", "k"};
    for (size_t i = 0; i < names.size(); ++i) {
      v1::Problem::Extents& extent = *result.mutable_problem()->add_extents();
      extent.set_dimension(names[i]);
      extent.add_values(extents[i]);
    }
    *result.mutable_chosen() = Measured(1, chosen_us);
    *result.mutable_default_configuration() = Measured(2, default_us);
    if (best_us > 0) *result.mutable_best() = Measured(3, best_us);
    result.set_predicted_us(10.5);
    result.set_relative_bound(0.1);
    result.set_source(v1::FITTED);
  }

  wavetune::testing::TemporaryFolder folder_;
  std::string shapes_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_BENCH_COMMAND_FIXTURE_H_
