#include "cli/report/placed_samples.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/table/wave_model.h"

namespace wavetune::cli {
namespace {

class Placer {
 public:
  Placer(const ReportInput& input, const SubTable& sub)
      : table_(*input.table),
        sub_(sub),
        sub_table_(table_.SubTableIndex(sub.specialisation)),
        representative_(input.representative.begin(),
                        input.representative.end()) {
    for (const TableCandidate& member : sub.portfolio) {
      AddCandidate({.configuration = member.configuration,
                    .tiles_per_wave = member.tiles_per_wave,
                    .registers = member.registers,
                    .shared_memory_bytes = member.shared_memory_bytes});
      groups_.push_back(GroupOf(sub, static_cast<int>(groups_.size())));
    }
    for (const TraceCandidate& known : input.candidates) {
      if (known.specialisation == sub.specialisation &&
          !known.candidate.excluded())
        AddCandidate(known.candidate);
    }
  }

  void Add(const std::vector<Sample>& samples, SampleUse use) {
    for (const Sample& sample : samples) {
      if (sample.problem.specialisation == sub_.specialisation)
        Add(sample, use);
    }
  }

  SampleGrid Take() { return std::move(grid_); }

 private:
  void AddCandidate(const Candidate& candidate) {
    const auto index = static_cast<int>(grid_.candidates.size());
    if (indices_.try_emplace(candidate.configuration, index).second)
      grid_.candidates.push_back(candidate);
  }

  bool IsOfThisKernel(const Sample& sample) const {
    const Table& table = table_.table();
    return sample.problem.extents.size() == table.dimensions.size() &&
           static_cast<size_t>(sample.configuration.size()) ==
               table.parameters.size() &&
           sample.latency_us > 0;
  }

  void Add(const Sample& sample, SampleUse use) {
    const auto candidate = indices_.find(sample.configuration);
    if (!IsOfThisKernel(sample) || candidate == indices_.end()) {
      ++grid_.dropped;
      return;
    }
    const bool member =
        candidate->second < static_cast<int>(sub_.portfolio.size());
    PlacedSample placed{.sample = &sample, .use = use};
    if (!placed.fitted() && !member) return;
    if (placed.fitted() && representative_.contains(sample.problem))
      placed.use = SampleUse::kRepresentative;
    placed.candidate = candidate->second;
    placed.at =
        MapProblem(sub_.mapping, sample.problem.View(), sample.configuration);
    placed.row_regime =
        RowRegimeIndex(sub_, placed.at.rows, placed.at.row_fill);
    if (member) {
      placed.group = groups_[static_cast<size_t>(candidate->second)];
      placed.residual = Residual(sample);
    }
    grid_.samples.push_back(placed);
  }

  std::optional<double> Residual(const Sample& sample) const {
    for (const ExplainedGroup& row :
         table_.Explain(sub_table_, sample.problem.View())) {
      if (row.legal && row.configuration == sample.configuration)
        return sample.latency_us / row.latency_us - 1;
    }
    return std::nullopt;
  }

  const CompiledTable& table_;
  const SubTable& sub_;
  const int sub_table_;
  const std::set<Problem> representative_;
  std::map<Configuration, int> indices_;
  std::vector<int> groups_;  // Of the portfolio.
  SampleGrid grid_;
};

}  // namespace

int GroupOf(const SubTable& sub, int candidate) {
  const auto index = static_cast<uint8_t>(candidate);
  for (size_t g = 0; g < sub.groups.size(); ++g) {
    const MacroGroup& group = sub.groups[g];
    if (group.lead == index) return static_cast<int>(g);
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        if (std::find(segment.micro.begin(), segment.micro.end(), index) !=
            segment.micro.end())
          return static_cast<int>(g);
      }
    }
  }
  return -1;
}

SampleGrid PlaceSamples(const ReportInput& input, const SubTable& sub) {
  Placer placer(input, sub);
  placer.Add(input.fitted, SampleUse::kAnchor);
  placer.Add(input.held_out, SampleUse::kHeldOut);
  placer.Add(input.judged, SampleUse::kJudged);
  return placer.Take();
}

}  // namespace wavetune::cli
