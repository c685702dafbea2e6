#include "cli/export/token_keys.h"

#include <cstddef>

namespace wavetune::cli {

std::vector<int64_t> KeyTokens(absl::Span<const Configuration> choices) {
  std::vector<int64_t> keys;
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto tokens = static_cast<int64_t>(i) + 1;
    const bool last = i + 1 == choices.size();
    if (tokens <= kEveryTokenCount || last || choices[i] != choices[i - 1] ||
        choices[i] != choices[i + 1])
      keys.push_back(tokens);
  }
  return keys;
}

}  // namespace wavetune::cli
