#include "cli/commands/kernel_template.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/template_files.h"
#include "model/kernel/kernel_faults.h"

namespace wavetune::cli {
namespace {

using namespace template_files;  // NOLINT: 24 names of one kind.

struct Template {
  absl::string_view like;
  // What the kernel is called where it is copied from; the longest first, where
  // one begins another.
  std::vector<absl::string_view> names;
  absl::string_view what;
  // Views of constants that another file defines: known when they are used.
  const absl::string_view& manifest;
  const absl::string_view& kernel;
  const absl::string_view& reference;
  const absl::string_view& shapes;
};

const std::vector<Template>& Templates() {
  static const auto& templates = *new std::vector<Template>{
      {"gemm",
       {"gemm_f32"},
       "a matrix product in tiles: two axes in the grid, one in the loop",
       kGemmManifest,
       kGemmKernel,
       kGemmReference,
       kGemmShapes},
      {"row",
       {"rms_norm"},
       "a normalisation of rows: rows in the grid, columns in a loop, counted",
       kRowManifest,
       kRowKernel,
       kRowReference,
       kRowShapes},
      {"pointwise",
       {"gelu"},
       "a function of each element: two axes in the grid, elements counted",
       kPointwiseManifest,
       kPointwiseKernel,
       kPointwiseReference,
       kPointwiseShapes},
      {"conv",
       {"conv2d"},
       "a convolution: one axis of the grid over three dimensions, the loop "
       "over three others, a stride for each specialisation",
       kConvManifest,
       kConvKernel,
       kConvReference,
       kConvShapes},
      {"attention",
       {"attention_counted", "attention"},
       "attention with grouped queries, causal and full: tiles of unequal "
       "length, whose work the mapping counts",
       kAttentionManifest,
       kAttentionKernel,
       kAttentionReference,
       kAttentionShapes},
      {"grouped",
       {"grouped_gemm"},
       "matrix products of a mixture of experts: a list of rows, which may be "
       "0, in the grid",
       kGroupedManifest,
       kGroupedKernel,
       kGroupedReference,
       kGroupedShapes},
  };
  return templates;
}

// What OpenCL C keeps for itself and a kernel may well be called.
constexpr std::array kReserved = {
    "auto",     "break",    "case",   "char",     "const",    "constant",
    "continue", "default",  "do",     "double",   "else",     "enum",
    "extern",   "float",    "for",    "global",   "goto",     "half",
    "if",       "inline",   "int",    "kernel",   "local",    "long",
    "main",     "private",  "return", "restrict", "short",    "signed",
    "sizeof",   "static",   "struct", "switch",   "typedef",  "uniform",
    "union",    "unsigned", "void",   "volatile", "while",    "pipe",
    "register", "generic",  "bool",   "image2d",  "sampler_t"};

bool InWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Whether a word begins at `at`.
bool WordBegins(absl::string_view text, size_t at) {
  return at == 0 || !InWord(text[at - 1]);
}

bool HasWord(absl::string_view text, absl::string_view word) {
  for (size_t at = text.find(word); at != absl::string_view::npos;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (WordBegins(text, at) && (end == text.size() || !InWord(text[end])))
      return true;
  }
  return false;
}

// Replaces each of `names` where a word begins with it: `gelu_reference` goes
// with `gelu`.
std::string Renamed(absl::string_view text,
                    const std::vector<absl::string_view>& names,
                    absl::string_view name) {
  std::string renamed;
  for (size_t at = 0; at < text.size();) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](absl::string_view old) {
          return WordBegins(text, at) && text.substr(at, old.size()) == old;
        });
    if (found == names.end()) {
      renamed.push_back(text[at++]);
    } else {
      absl::StrAppend(&renamed, name);
      at += found->size();
    }
  }
  return renamed;
}

std::string Readme(absl::string_view name, const Template& of) {
  return absl::StrCat(
      "# ", name, "\n\nWritten by `wavetune kernels new ", name, " --like ",
      of.like, "`: ", of.what, ".\n",
      "It profiles as it is. Make it yours, one file after the other:\n\n",
      "| file | what it is |\n|---|---|\n| `", name,
      ".cl` | the kernel; correct at every problem that the manifest allows "
      "|\n",
      "| `reference.cl` | what its results are compared with: obvious rather "
      "than fast |\n",
      "| `manifest.textproto` | dimensions, parameters, how a problem becomes "
      "tiles and iterations, arguments, problems that callers ask for |\n",
      "| `shapes.csv` | problems to judge it on, none of which the manifest "
      "names |\n\n",
      "WaveTune's docs/manifest.md says what the fields mean.\n\n```\n",
      "wavetune kernels check ", name,
      " --plan         # faults, what constraints exclude, where it would be "
      "measured\n",
      "wavetune kernels compile ", name,
      " --all        # every configuration, against the reference\n",
      "wavetune kernels compile ", name, " --guard-pages --all\n",
      "wavetune reprofile --kernel ", name,
      " --wait     # where the daemon's --kernels-dir holds this folder\n",
      "wavetune bench ", name, " --shapes ", name,
      "/shapes.csv --exhaustive\n```\n");
}

absl::Status CheckName(const std::string& name, const Template& of) {
  if (!IsLowerName(name))
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name,
        "\" is no name for a kernel: give lower-case letters, digits and "
        "underscores, a letter first, at most 64"));
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end())
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name,
                     "\" is a word of OpenCL C; give another "
                     "name"));
  const bool is_its_own =
      std::find(of.names.begin(), of.names.end(), name) != of.names.end();
  if (!is_its_own && (HasWord(of.kernel, name) || HasWord(of.reference, name)))
    return absl::InvalidArgumentError(
        absl::StrCat("the source of template ", of.like, " uses \"", name,
                     "\" for something else; give another name"));
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> TemplateNames() {
  std::vector<std::string> names;
  for (const Template& of : Templates()) names.emplace_back(of.like);
  return names;
}

absl::StatusOr<std::map<std::string, std::string>> KernelFromTemplate(
    const std::string& name, absl::string_view like) {
  const auto of =
      std::find_if(Templates().begin(), Templates().end(),
                   [&](const Template& own) { return own.like == like; });
  if (of == Templates().end())
    return absl::InvalidArgumentError(
        absl::StrCat("there is no template \"", like, "\"; there are ",
                     absl::StrJoin(TemplateNames(), ", ")));
  if (absl::Status status = CheckName(name, *of); !status.ok()) return status;
  return std::map<std::string, std::string>{
      {"manifest.textproto", Renamed(of->manifest, of->names, name)},
      {name + ".cl", Renamed(of->kernel, of->names, name)},
      {"reference.cl", Renamed(of->reference, of->names, name)},
      {"shapes.csv", std::string(of->shapes)},
      {"README.md", Readme(name, *of)}};
}

}  // namespace wavetune::cli
