// The files of the kernels that `wavetune kernels new` copies, embedded by the
// build (cmake/WavetuneEmbed.cmake) from kernels/gemm_f32 and tests/kernels,
// and the Python that reads a Triton function.
#ifndef WAVETUNE_CLI_COMMANDS_TEMPLATE_FILES_H_
#define WAVETUNE_CLI_COMMANDS_TEMPLATE_FILES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace wavetune::cli::template_files {

struct EmbeddedFile {
  absl::string_view folder;  // "gelu"
  absl::string_view name;    // "gelu.cl"
  absl::string_view content;
};

extern const absl::Span<const EmbeddedFile> kTemplateFiles;
extern const absl::string_view kReadTriton;

}  // namespace wavetune::cli::template_files

#endif  // WAVETUNE_CLI_COMMANDS_TEMPLATE_FILES_H_
