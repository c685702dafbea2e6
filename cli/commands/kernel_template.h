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

// Returns the backends that a template of that name is there for; all that
// there are for any where `like` is empty. Cannot fail.
std::vector<std::string> TemplateBackends(absl::string_view like);

// Returns the files (name to content) of a kernel `name` that does what the
// template `like` does: manifest, sources, problems to judge it on and a
// README. Errors: INVALID_ARGUMENT for a name that no kernel can have, or that
// is a word of a backend's language or of the template's source. So is a
// template that is unknown, or not there for `backend`, with those there are.
absl::StatusOr<std::map<std::string, std::string>> KernelFromTemplate(
    const std::string& name, absl::string_view like, absl::string_view backend);

// Returns the files of a kernel `name` whose source is a Triton function.
// `from` is "module:function" or "path/file.py:function", which `python`
// imports. The source is without @triton.autotune and @triton.heuristics; the
// manifest has
// TODO where only an author knows. Errors: INVALID_ARGUMENT for a name that no
// kernel can have, and where Python says what is wrong; FAILED_PRECONDITION
// where Python does not run. `remarks` is what Python says else.
absl::StatusOr<std::map<std::string, std::string>> KernelFromTriton(
    const std::string& name, const std::string& from, const std::string& python,
    std::string* remarks);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_KERNEL_TEMPLATE_H_
