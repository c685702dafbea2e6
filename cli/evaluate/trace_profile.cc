#include "cli/evaluate/trace_profile.h"

#include <map>
#include <utility>

namespace wavetune::cli {

TraceProfile ProfileFromTrace(ProfileInput input,
                              const std::vector<Sample>& recorded) {
  std::map<std::pair<Configuration, Problem>, const Sample*> samples;
  for (const Sample& sample : recorded) {
    samples.try_emplace({sample.configuration, sample.problem}, &sample);
  }
  TraceProfile profile;
  input.samples.clear();
  for (;;) {
    const ProfileStep step = PlanNext(input, profile.missing);
    if (step.items.empty()) break;
    for (const MeasureItem& item : step.items) {
      const auto found = samples.find({item.configuration, item.problem});
      if (found == samples.end()) {
        profile.missing.push_back(item);
      } else {
        input.samples.push_back(*found->second);
      }
    }
  }
  profile.samples = std::move(input.samples);
  return profile;
}

}  // namespace wavetune::cli
