// The page around a report's data: one file that loads nothing.
//
// The chart library, scripts, style and data are all inside, and a content
// security policy in the page forbids the browser to load anything else.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_REPORT_REPORT_PAGE_H_
#define WAVETUNE_CLI_REPORT_REPORT_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "cli/json.h"

namespace wavetune::cli {

// Returns the page of ReportJson's answer. Whatever the names in it are, they
// end neither the script that holds them nor become markup. Cannot fail.
std::string ReportPage(const Json& report);

// Returns `text` with the characters that HTML gives a meaning replaced.
std::string EscapeHtml(absl::string_view text);

// Returns JSON that can stand in a script element: no '<' in it.
std::string ScriptJson(const Json& json);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_REPORT_PAGE_H_
