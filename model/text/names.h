// ManifestNames: what names mean in the texts of a manifest.
//
// Thread safety: const functions may be called at once.
#ifndef WAVETUNE_MODEL_TEXT_NAMES_H_
#define WAVETUNE_MODEL_TEXT_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/kernel/mapping.h"

namespace wavetune {

class ManifestNames {
 public:
  // What a text may name beside parameters and constants.
  enum class Scope {
    kParameters,  // Nothing.
    kDimensions,
    kDevice,   // Facts of a device.
    kProblem,  // Dimensions, and no parameters.
  };

  // Later declarations of a name are ignored: others report them.
  void Add(const std::string& name, Expression meaning);
  void AddDeviceFact(const std::string& name, Expression meaning);

  // Returns what the name means, or nullptr where it is not declared.
  const Expression* Find(absl::string_view name) const;
  // The same of a fact of a device.
  const Expression* FindDeviceFact(absl::string_view name) const;

  // All names that a scope has, in the order of their declaration.
  std::vector<std::string> Of(Scope scope) const;

 private:
  struct Meaning {
    std::string name;
    Expression expression;
  };
  std::vector<Meaning> names_;
  std::vector<Meaning> facts_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TEXT_NAMES_H_
