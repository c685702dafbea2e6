#include "formats/workload/model_config.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/config_text.h"
#include "formats/workload/config_reader.h"
#include "nlohmann/json.hpp"

namespace wavetune {
namespace {

absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text) {
  nlohmann::json config;
  try {
    config = nlohmann::json::parse(WithoutPythonLiterals(text));
  } catch (const nlohmann::json::exception& error) {  // Also 1e999.
    // What stands before the first blank is the library's own number.
    const absl::string_view what = error.what();
    return absl::InvalidArgumentError(absl::StrCat(
        "config.json is no JSON, or cut off: ",
        PrintableText(what.substr(std::min(what.size(), what.find(' ') + 1))),
        "; fetch the file again"));
  }
  if (!config.is_object()) {
    return absl::InvalidArgumentError(
        "config.json holds no object: give a model's config.json, as "
        "Hugging Face has it beside the weights");
  }
  return config;
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "config.json has ", text.size(),
        " bytes without blanks and labels, of which at most ", kMaxConfigBytes,
        " are read: give the model's config.json alone"));
  }
  ASSIGN_OR_RETURN(const nlohmann::json config, ParseObject(text));
  return ReadConfig(config);
}

}  // namespace wavetune
