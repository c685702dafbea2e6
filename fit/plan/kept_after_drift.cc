#include "fit/plan/kept_after_drift.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fit/plan/drift_regimes.h"
#include "fit/samples/sample_selection.h"
#include "model/kernel/configuration_text.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

// By specialisation and name, whether a regime that was judged drifted.
using Judged = std::map<std::pair<std::string, std::string>, bool>;

// Which of a specialisation's configurations drifted.
class DriftedConfigurations {
 public:
  DriftedConfigurations(const Table& table, const SubTable& sub,
                        const Judged& judged) {
    for (const TableCandidate& member : sub.portfolio) {
      const Configuration& configuration = member.configuration;
      const auto found =
          judged.find({sub.specialisation,
                       FormatConfiguration(table.parameters, configuration)});
      if (found == judged.end()) continue;
      judged_[configuration] = found->second;
      for (int i = 0; i < configuration.size(); ++i) {
        const auto value = std::pair(i, configuration[i]);
        const auto [all, first] = all_drifted_.try_emplace(value, true);
        all->second = all->second && found->second;
      }
    }
  }

  bool Has(const Configuration& configuration) const {
    const auto found = judged_.find(configuration);
    if (found != judged_.end()) return found->second;
    for (int i = 0; i < configuration.size(); ++i) {
      const auto value = all_drifted_.find({i, configuration[i]});
      if (value != all_drifted_.end() && value->second) return true;
    }
    return false;
  }

 private:
  std::map<Configuration, bool> judged_;
  // By parameter and value, whether all that were judged and have it drifted.
  std::map<std::pair<int, int64_t>, bool> all_drifted_;
};

}  // namespace

std::vector<Sample> KeptAfterDrift(const Table& table,
                                   const DriftReport& report,
                                   absl::Span<const Sample> before,
                                   const TilesPerWave& tiles_per_wave) {
  Judged judged;
  for (const DriftRegime& regime : report.regimes) {
    judged[{regime.specialisation, regime.name}] = regime.drifted;
  }
  std::map<std::string, DriftedConfigurations> drifted;
  for (const SubTable& sub : table.sub_tables) {
    drifted.emplace(sub.specialisation,
                    DriftedConfigurations(table, sub, judged));
  }
  std::vector<Sample> kept;
  for (const Sample& sample : before) {
    const std::string& specialisation = sample.problem.specialisation;
    const SubTable* const sub = FindSubTable(table, specialisation);
    const int64_t tiles = tiles_per_wave(specialisation, sample.configuration);
    if (sub == nullptr || tiles < 1 || !IsSound(sample)) continue;
    const std::string structure = DriftRegimeName(
        *sub,
        MapProblem(sub->mapping, sample.problem.View(), sample.configuration),
        tiles);
    const auto of_structure = judged.find({specialisation, structure});
    if (of_structure != judged.end() && of_structure->second) continue;
    if (drifted.at(specialisation).Has(sample.configuration)) continue;
    kept.push_back(sample);
    kept.back().latency_us *= report.overall_ratio;
    kept.back().min_us *= report.overall_ratio;
    kept.back().device_time_us = 0;
  }
  return kept;
}

}  // namespace wavetune
