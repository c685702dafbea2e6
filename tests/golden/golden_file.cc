#include "tests/golden/golden_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

std::string PathOf(const std::string& name) {
  return std::string(WAVETUNE_SOURCE_DIR) + "/tests/golden/data/" + name;
}

bool Updating() {
  const char* const value = std::getenv("WAVETUNE_UPDATE_GOLDEN");
  return value != nullptr && std::string(value) == "1";
}

}  // namespace

std::string ReadGolden(const std::string& name) {
  std::ifstream file(PathOf(name), std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void ExpectGolden(const std::string& name, absl::string_view content) {
  if (Updating()) {
    std::ofstream file(PathOf(name), std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    ASSERT_TRUE(file.good()) << "cannot write " << PathOf(name);
    return;
  }
  const std::string golden = ReadGolden(name);
  if (golden == content) return;
  const auto differs = std::mismatch(golden.begin(), golden.end(),
                                     content.begin(), content.end());
  ADD_FAILURE() << name << " differs from byte "
                << differs.first - golden.begin()
                << " on (golden: " << golden.size()
                << " bytes, here: " << content.size()
                << "). If the change is intended, run with "
                   "WAVETUNE_UPDATE_GOLDEN=1 and commit the files.";
}

}  // namespace wavetune::testing
