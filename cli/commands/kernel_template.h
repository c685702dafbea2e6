// Kernel templates: whole kernels of several shapes, to be copied under another
// name and changed. The ones that are copied are tested as they are
// (tests/kernels, kernels/gemm_f32).
//
//   ASSIGN_OR_RETURN(const auto files, KernelFromTemplate("softmax", "row"));
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_COMMANDS_KERNEL_TEMPLATE_H_
#define WAVETUNE_CLI_COMMANDS_KERNEL_TEMPLATE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune::cli {

// Returns the names of the templates: "gemm", "row", … Cannot fail.
std::vector<std::string> TemplateNames();

// Returns the files (name to content) of a kernel `name` that does what the
// template `like` does: manifest, sources, problems to judge it on and a
// README. Errors: INVALID_ARGUMENT for a name that no kernel can have, or that
// is a word of OpenCL C or of the template's source. So is an unknown template,
// with those there are.
absl::StatusOr<std::map<std::string, std::string>> KernelFromTemplate(
    const std::string& name, absl::string_view like);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_KERNEL_TEMPLATE_H_
