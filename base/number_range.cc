#include "base/number_range.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace wavetune {

std::string NumberRange::operator()(const std::string& text) const {
  double value = 0;
  // What is beyond a double is read as infinite, and "nan" as such.
  if (!absl::SimpleAtod(text, &value) || value != value)
    return absl::StrCat("\"", text, "\" is no number; give ", Text());
  if (value >= low && value <= high) return "";
  return absl::StrCat("\"", text, "\" is out of range; give ", Text());
}

std::string NumberRange::Text() const {
  return absl::StrFormat("%.15g to %.15g", low, high);
}

}  // namespace wavetune
