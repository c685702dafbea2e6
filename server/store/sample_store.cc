#include "server/store/sample_store.h"

#include <limits>
#include <utility>

#include "base/status_macros.h"

namespace wavetune {

absl::StatusOr<SampleSet> SampleStore::Load(const ProfileKey& key,
                                            uint64_t generation) {
  SampleSet set;
  ASSIGN_OR_RETURN(SamplePage all,
                   LoadPage(key, generation, /*from=*/0,
                            std::numeric_limits<size_t>::max()));
  set.samples = std::move(all.samples);
  ASSIGN_OR_RETURN(set.candidates, LoadCandidates(key, generation));
  return set;
}

}  // namespace wavetune
