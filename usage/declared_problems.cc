#include "usage/declared_problems.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "usage/usage_weights.h"

namespace wavetune {
namespace {

// A problem of every specialisation that it is meant for.
std::vector<WeightedProblem> OfEach(const std::vector<std::string>& names,
                                    const WeightedProblem& declared) {
  if (!declared.problem.specialisation.empty()) return {declared};
  std::vector<WeightedProblem> result(names.size(), declared);
  for (size_t i = 0; i < names.size(); ++i) {
    result[i].problem.specialisation = names[i];
    result[i].weight /= static_cast<double>(names.size());
  }
  return result;
}

// Every `stride`-th problem, weighing as much as all.
std::vector<WeightedProblem> Thinned(const std::vector<WeightedProblem>& layer,
                                     size_t stride) {
  std::vector<WeightedProblem> kept;
  double all = 0;
  double of_kept = 0;
  for (size_t i = 0; i < layer.size(); ++i) {
    all += layer[i].weight;
    if (i % stride != 0) continue;
    of_kept += layer[i].weight;
    kept.push_back(layer[i]);
  }
  for (WeightedProblem& weighted : kept) weighted.weight *= all / of_kept;
  return kept;
}

// What the author's problems of a specialisation weigh; 0: there are none.
double NamedWeight(const KernelSpec& spec, const std::string& specialisation) {
  double sum = 0;
  for (const WeightedProblem& weighted : spec.representative_problems) {
    const std::string& own = weighted.problem.specialisation;
    if (own.empty() || own == specialisation) sum += weighted.weight;
  }
  return sum;
}

// Those that can be measured and say enough.
std::vector<WeightedProblem> Usable(
    const KernelSpec& spec, const std::vector<WeightedProblem>& declared) {
  std::vector<WeightedProblem> usable;
  for (const std::string& name : spec.SpecialisationNames()) {
    std::vector<WeightedProblem> own;
    double weight = 0;
    for (const WeightedProblem& weighted : declared) {
      if (weighted.problem.specialisation == name &&
          IsMeasurable(spec, weighted.problem)) {
        own.push_back(weighted);
        weight += weighted.weight;
      }
    }
    const double named = NamedWeight(spec, name);
    if (own.size() < kFewestWithoutNamed && named == 0) continue;
    for (WeightedProblem& weighted : own) {
      if (named > 0) weighted.weight *= named / weight;
    }
    usable.insert(usable.end(), own.begin(), own.end());
  }
  return usable;
}

}  // namespace

std::vector<WeightedProblem> DeclaredProblems(
    const KernelSpec& spec,
    const std::vector<std::vector<WeightedProblem>>& layers) {
  const std::vector<std::string> names = spec.SpecialisationNames();
  size_t longest = 1;
  for (const auto& layer : layers) longest = std::max(longest, layer.size());
  std::vector<WeightedProblem> result;
  for (size_t stride = 1; stride <= longest; ++stride) {
    result.clear();
    for (const auto& layer : layers) {
      for (const WeightedProblem& weighted : Thinned(layer, stride)) {
        const auto each = OfEach(names, weighted);
        result.insert(result.end(), each.begin(), each.end());
      }
    }
    if (result.size() <= kMostDeclaredProblems) return result;
  }
  if (result.size() > kMostDeclaredProblems) {
    result.resize(kMostDeclaredProblems);
  }
  return result;
}

KernelSpec WithDeclared(const KernelSpec& spec,
                        const std::vector<WeightedProblem>& declared,
                        absl::string_view device) {
  KernelSpec result = spec;
  std::vector<WeightedProblem> usable = Usable(spec, declared);
  for (WeightedProblem& weighted : usable) {
    std::erase_if(weighted.rivals,
                  [&](const Rival& rival) { return rival.device != device; });
  }
  const auto add = [&](KernelSpec& to) {
    to.representative_problems.insert(to.representative_problems.end(),
                                      usable.begin(), usable.end());
  };
  add(result);
  for (auto& [name, own] : result.own) {
    auto changed = std::make_shared<KernelSpec>(*own);
    add(*changed);
    own = std::move(changed);
  }
  return result;
}

}  // namespace wavetune
