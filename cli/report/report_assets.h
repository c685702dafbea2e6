// The files that a report's page is made of; embedded by the build
// (cmake/WavetuneEmbed.cmake), so that the program needs none of them at run
// time.
#ifndef WAVETUNE_CLI_REPORT_REPORT_ASSETS_H_
#define WAVETUNE_CLI_REPORT_REPORT_ASSETS_H_

#include "absl/strings/string_view.h"

namespace wavetune::cli::report_assets {

extern const absl::string_view kPage;     // page.html
extern const absl::string_view kStyle;    // style.css
extern const absl::string_view kScript;   // *.js, in the order of the build
extern const absl::string_view kLibrary;  // Chart.js
extern const absl::string_view kLicence;  // of Chart.js

}  // namespace wavetune::cli::report_assets

#endif  // WAVETUNE_CLI_REPORT_REPORT_ASSETS_H_
