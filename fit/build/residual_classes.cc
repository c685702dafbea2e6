#include "fit/build/residual_classes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "fit/models/robust_fit.h"

namespace wavetune {
namespace {

constexpr size_t kMostClasses = 8;
// A median of fewer problems is their own.
constexpr size_t kFewestOfMedian = 3;
// So that enough are left of a class without one part of the problems.
constexpr size_t kFewestOfClass = 2 * kFewestOfMedian;

// What is learned of all other parts of the problems is tried in one. Problems
// come in the order of their extents, so that every second or eighth may be
// alike: they are shuffled (splitmix64).
constexpr size_t kParts = 8;
size_t PartOf(const ResidualPoint& point) {
  uint64_t hash = point.problem + 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return (hash ^ (hash >> 31)) % kParts;
}

struct Weighted {
  double value;
  double weight;
};

// Returns 1 without any.
double WeightedMedian(std::vector<Weighted> all) {
  std::sort(all.begin(), all.end(), [](const Weighted& a, const Weighted& b) {
    return a.value < b.value || (a.value == b.value && a.weight < b.weight);
  });
  double sum = 0;
  for (const Weighted& w : all) sum += w.weight;
  double passed = 0;
  for (const Weighted& w : all) {
    passed += w.weight;
    if (2 * passed >= sum) return w.value;
  }
  return 1;
}

// The values that end a class, so that classes have as many points.
std::vector<double> Cuts(absl::Span<const double> values, size_t classes) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> cuts;
  for (size_t i = 1; i < classes; ++i) {
    const double cut = sorted[sorted.size() * i / classes];
    if (cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
  }
  return cuts;
}

// Numbers the classes that have points in ascending order of their values.
std::vector<size_t> ClassOf(absl::Span<const double> values, size_t classes) {
  const std::vector<double> cuts = Cuts(values, classes);
  std::vector<size_t> class_of;
  std::set<size_t> used;
  for (const double value : values) {
    // What equals a cut is below it.
    const auto cut = std::lower_bound(cuts.begin(), cuts.end(), value);
    class_of.push_back(static_cast<size_t>(cut - cuts.begin()));
    used.insert(class_of.back());
  }
  for (size_t& index : class_of) {
    index = static_cast<size_t>(std::distance(used.begin(), used.find(index)));
  }
  return class_of;
}

// Medians of measured / predicted, of all and of each class, over all parts of
// the problems but one (kParts: but none).
class Medians {
 public:
  Medians(absl::Span<const ResidualPoint> points,
          absl::Span<const size_t> class_of, size_t left_out) {
    std::map<size_t, std::vector<Weighted>> ratios;
    std::vector<Weighted> all;
    std::map<size_t, std::set<size_t>> problems;
    for (size_t i = 0; i < points.size(); ++i) {
      if (PartOf(points[i]) == left_out) continue;
      ratios[class_of[i]].push_back({points[i].ratio, points[i].weight});
      problems[class_of[i]].insert(points[i].problem);
      all.push_back({points[i].ratio, points[i].weight});
    }
    all_ = WeightedMedian(std::move(all));
    for (auto& [index, own] : ratios) {
      if (problems[index].size() < kFewestOfMedian) continue;
      of_class_[index] = WeightedMedian(std::move(own));
    }
  }

  double all() const { return all_; }
  // Where too few problems say it, that of all.
  double Of(size_t index) const {
    const auto found = of_class_.find(index);
    return found == of_class_.end() ? all_ : found->second;
  }

 private:
  double all_ = 1;
  std::map<size_t, double> of_class_;
};

// Sets error, gain and standard error.
void SetGain(absl::Span<const ResidualPoint> points, ResidualClasses& result) {
  std::vector<Medians> without;
  for (size_t part = 0; part < kParts; ++part) {
    without.emplace_back(points, result.class_of, part);
  }
  struct Sums {
    double gain = 0;
    double weight = 0;
  };
  std::map<size_t, Sums> of_problem;
  Sums all;
  double error = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const ResidualPoint& p = points[i];
    const Medians& other = without[PartOf(p)];
    const double before = ErrorOfRatio(p.ratio / other.all());
    const double after = ErrorOfRatio(p.ratio / other.Of(result.class_of[i]));
    Sums& own = of_problem[p.problem];
    own.gain += p.weight * (before - after);
    own.weight += p.weight;
    all.gain += p.weight * (before - after);
    all.weight += p.weight;
    error += p.weight * ErrorOfRatio(p.ratio);
  }
  result.error = error / all.weight;
  result.gain = all.gain / all.weight;
  double squares = 0;
  for (const auto& [problem, own] : of_problem) {
    const double deviation = own.gain - result.gain * own.weight;
    squares += deviation * deviation;
  }
  result.standard_error = std::sqrt(squares) / all.weight;
}

void SetClasses(absl::Span<const ResidualPoint> points,
                absl::Span<const double> values, ResidualClasses& result) {
  const Medians medians(points, result.class_of, kParts);
  std::map<size_t, std::vector<Weighted>> own;
  for (size_t i = 0; i < points.size(); ++i) {
    own[result.class_of[i]].push_back({values[i], points[i].weight});
  }
  for (auto& [index, of_class] : own) {
    result.classes.push_back({.value = WeightedMedian(std::move(of_class)),
                              .ratio = medians.Of(index) / medians.all()});
  }
}

size_t CountProblems(absl::Span<const ResidualPoint> points) {
  std::set<size_t> problems;
  for (const ResidualPoint& point : points) problems.insert(point.problem);
  return problems.size();
}

}  // namespace

ResidualClasses ClassifyResiduals(absl::Span<const ResidualPoint> points,
                                  absl::Span<const double> values) {
  ResidualClasses result;
  const size_t problems = CountProblems(points);
  if (problems < 2 * kFewestOfClass) return result;
  result.class_of =
      ClassOf(values, std::min(kMostClasses, problems / kFewestOfClass));
  SetGain(points, result);
  SetClasses(points, values, result);
  return result;
}

}  // namespace wavetune
