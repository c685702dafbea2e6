#include "server/jobs/incumbent.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "model/table/kernel_match.h"
#include "server/catalog/wrong_tables.h"

namespace wavetune {
Incumbent::Incumbent(const KernelSpec& spec,
                     std::optional<ServingTable> serving)
    : serving_(std::move(serving)),
      comparable_(serving_ && IsComparable(spec, serving_->table->table())) {}

bool Incumbent::Chooses(const std::string& specialisation,
                        const Configuration& configuration) const {
  return comparable_ && wavetune::Chooses(serving_->table->table(),
                                          specialisation, configuration);
}

bool Incumbent::Is(const ProfileKey& key, absl::string_view digest) const {
  return serving_ && serving_->record.key == key &&
         serving_->record.digest == digest;
}

bool Incumbent::IsStaleFor(const ProfileKey& key) const {
  return serving_ && (serving_->record.key.fingerprint != key.fingerprint ||
                      !serving_->record.IsFor(key.environment_key) ||
                      serving_->record.unverified);
}

std::string Incumbent::ServesOnText() const {
  if (!serving_) return "the default configuration serves on";
  return absl::StrCat("table ", ShortDigest(serving_->record.digest),
                      " serves on");
}

}  // namespace wavetune
