#include "cli/report/report_page.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/report/report_assets.h"

namespace wavetune::cli {

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                    {"<", "&lt;"},
                                    {">", "&gt;"},
                                    {"\"", "&quot;"},
                                    {"'", "&#39;"}});
}

std::string ScriptJson(const Json& json) {
  // Inside of a string, the only place for a '<' in JSON, this is the same
  // character.
  return absl::StrReplaceAll(
      json.dump(-1, ' ', false, Json::error_handler_t::replace),
      {{"<", "\\u003c"}});
}

std::string ReportPage(const Json& report) {
  const std::string title =
      absl::StrCat(report.value("kernel", ""), " on ",
                   report.value("device", ""), " - WaveTune report");
  // One pass: what is put in is not looked at again.
  return absl::StrReplaceAll(
      report_assets::kPage,
      {{"{{title}}", EscapeHtml(title)},
       {"{{style}}", report_assets::kStyle},
       {"{{library}}", report_assets::kLibrary},
       {"{{licence}}", EscapeHtml(report_assets::kLicence)},
       {"{{script}}", report_assets::kScript},
       {"{{data}}", ScriptJson(report)}});
}

}  // namespace wavetune::cli
