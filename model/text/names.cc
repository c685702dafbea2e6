#include "model/text/names.h"

#include <algorithm>
#include <utility>

namespace wavetune {
namespace {

template <typename Meanings>
const Expression* FindIn(const Meanings& meanings, absl::string_view name) {
  const auto found =
      std::find_if(meanings.begin(), meanings.end(),
                   [name](const auto& known) { return known.name == name; });
  return found == meanings.end() ? nullptr : &found->expression;
}

}  // namespace

void ManifestNames::Add(const std::string& name, Expression meaning) {
  if (Find(name) == nullptr) names_.push_back({name, std::move(meaning)});
}

void ManifestNames::AddDeviceFact(const std::string& name, Expression meaning) {
  facts_.push_back({name, std::move(meaning)});
}

const Expression* ManifestNames::Find(absl::string_view name) const {
  return FindIn(names_, name);
}

const Expression* ManifestNames::FindDeviceFact(absl::string_view name) const {
  return FindIn(facts_, name);
}

std::vector<std::string> ManifestNames::Of(Scope scope) const {
  std::vector<std::string> all;
  for (const Meaning& known : names_) {
    const bool dimension =
        known.expression.kind == Expression::Kind::kDimension;
    const bool parameter =
        known.expression.kind == Expression::Kind::kParameter;
    const bool fits =
        dimension ? scope == Scope::kDimensions || scope == Scope::kProblem
                  : !parameter || scope != Scope::kProblem;
    if (fits) all.push_back(known.name);
  }
  if (scope != Scope::kDevice) return all;
  for (const Meaning& known : facts_) all.push_back(known.name);
  return all;
}

}  // namespace wavetune
