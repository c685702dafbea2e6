#include "fit/plan/predicted_cost.h"

#include <algorithm>
#include <utility>

#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

// Warm-up and the fewest launches of a short kernel.
constexpr double kLeastUs = 2000;

double Median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double IterationsOf(const KernelSpec& spec, const Configuration& configuration,
                    const Problem& problem) {
  return static_cast<double>(
      std::max<int64_t>(1, MapProblem(spec.MappingOf(problem.specialisation),
                                      problem.View(), configuration)
                               .total_iterations));
}

}  // namespace

CostPredictor::CostPredictor(const ProfileInput& input) : spec_(*input.spec) {
  std::vector<double> all;
  std::map<std::pair<std::string, Configuration>, std::vector<double>> own;
  for (const Sample& sample : input.samples) {
    const double each_us =
        sample.device_time_us /
        IterationsOf(spec_, sample.configuration, sample.problem);
    all.push_back(each_us);
    own[{sample.problem.specialisation, sample.configuration}].push_back(
        each_us);
  }
  if (!all.empty()) usual_us_ = Median(std::move(all));
  for (auto& [candidate, each_us] : own)
    own_us_[candidate] = Median(std::move(each_us));
}

double CostPredictor::CostUs(const std::vector<MeasureItem>& items) const {
  if (own_us_.empty()) return 0;
  double cost_us = 0;
  for (const MeasureItem& item : items) {
    const auto found =
        own_us_.find({item.problem.specialisation, item.configuration});
    const double each_us = found == own_us_.end() ? usual_us_ : found->second;
    cost_us += std::max(
        kLeastUs,
        each_us * IterationsOf(spec_, item.configuration, item.problem));
  }
  return cost_us;
}

double PredictedCostUs(const ProfileInput& input,
                       const std::vector<MeasureItem>& items) {
  return CostPredictor(input).CostUs(items);
}

}  // namespace wavetune
