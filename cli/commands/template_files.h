// The files of the kernels that `wavetune kernels new` copies; embedded by the
// build (cmake/WavetuneEmbed.cmake) from kernels/gemm_f32 and tests/kernels.
#ifndef WAVETUNE_CLI_COMMANDS_TEMPLATE_FILES_H_
#define WAVETUNE_CLI_COMMANDS_TEMPLATE_FILES_H_

#include "absl/strings/string_view.h"

namespace wavetune::cli::template_files {

extern const absl::string_view kGemmManifest;
extern const absl::string_view kGemmKernel;
extern const absl::string_view kGemmReference;
extern const absl::string_view kGemmShapes;
extern const absl::string_view kRowManifest;
extern const absl::string_view kRowKernel;
extern const absl::string_view kRowReference;
extern const absl::string_view kRowShapes;
extern const absl::string_view kPointwiseManifest;
extern const absl::string_view kPointwiseKernel;
extern const absl::string_view kPointwiseReference;
extern const absl::string_view kPointwiseShapes;
extern const absl::string_view kConvManifest;
extern const absl::string_view kConvKernel;
extern const absl::string_view kConvReference;
extern const absl::string_view kConvShapes;
extern const absl::string_view kAttentionManifest;
extern const absl::string_view kAttentionKernel;
extern const absl::string_view kAttentionReference;
extern const absl::string_view kAttentionShapes;
extern const absl::string_view kGroupedManifest;
extern const absl::string_view kGroupedKernel;
extern const absl::string_view kGroupedReference;
extern const absl::string_view kGroupedShapes;

}  // namespace wavetune::cli::template_files

#endif  // WAVETUNE_CLI_COMMANDS_TEMPLATE_FILES_H_
