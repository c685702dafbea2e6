#include "model/kernel/space_sample.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/kernel_validation.h"

namespace wavetune {
namespace {

// Values by (parameter, value).
using Values = std::set<std::pair<int, int64_t>>;

Values ValuesOf(absl::Span<const Configuration> configurations) {
  Values values;
  for (const Configuration& configuration : configurations) {
    for (int i = 0; i < configuration.size(); ++i) {
      values.emplace(i, configuration[i]);
    }
  }
  return values;
}

int CountNew(const Configuration& configuration, const Values& wanted) {
  int count = 0;
  for (int i = 0; i < configuration.size(); ++i) {
    count += wanted.contains({i, configuration[i]}) ? 1 : 0;
  }
  return count;
}

class Sampler {
 public:
  Sampler(std::vector<Configuration> space, size_t size)
      : space_(std::move(space)),
        size_(size),
        taken_(space_.size()),
        wanted_(ValuesOf(space_)) {}

  std::vector<Configuration> Run(const Configuration& default_configuration) {
    const auto found =
        std::find(space_.begin(), space_.end(), default_configuration);
    if (found != space_.end()) {
      Take(static_cast<size_t>(found - space_.begin()));
    }
    while (!wanted_.empty() && chosen_.size() < size_) Take(BestCover());
    Spread();
    return std::move(chosen_);
  }

 private:
  void Take(size_t index) {
    taken_[index] = true;
    chosen_.push_back(space_[index]);
    for (int i = 0; i < space_[index].size(); ++i) {
      wanted_.erase({i, space_[index][i]});
    }
  }

  // The first of those that have the most wanted values; any has one.
  size_t BestCover() const {
    size_t best = 0;
    int most = 0;
    for (size_t i = 0; i < space_.size(); ++i) {
      const int own = CountNew(space_[i], wanted_);
      if (own <= most) continue;
      best = i;
      most = own;
    }
    return best;
  }

  // Fills up from evenly spread places; where one is taken, with the next.
  void Spread() {
    const size_t missing = size_ - chosen_.size();
    for (size_t i = 0; i < missing; ++i) {
      size_t at = i * space_.size() / missing;
      while (taken_[at]) at = (at + 1) % space_.size();
      Take(at);
    }
  }

  const std::vector<Configuration> space_;
  const size_t size_;  // Less than the space.
  std::vector<bool> taken_;
  Values wanted_;
  std::vector<Configuration> chosen_;
};

}  // namespace

std::vector<Configuration> SampleSpace(const KernelSpec& spec, size_t size) {
  std::vector<Configuration> space = EnumerateConfigurations(spec);
  if (size >= space.size()) return space;
  return Sampler(std::move(space), std::max<size_t>(1, size))
      .Run(spec.default_configuration);
}

std::vector<std::string> ValuesLeftOut(const KernelSpec& spec,
                                       absl::Span<const Configuration> space,
                                       absl::Span<const Configuration> sample) {
  const Values has = ValuesOf(space);
  const Values seen = ValuesOf(sample);
  std::vector<std::string> left_out;
  for (size_t p = 0; p < spec.parameters.size(); ++p) {
    for (const int64_t value : spec.parameters[p].values) {
      const std::pair<int, int64_t> key(static_cast<int>(p), value);
      if (!has.contains(key) || seen.contains(key)) continue;
      left_out.push_back(absl::StrCat(spec.parameters[p].name, "=", value));
    }
  }
  return left_out;
}

}  // namespace wavetune
