#include "cli/commands/kernel_template.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/commands/template_files.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/scratch_folder.h"
#include "model/kernel/kernel_faults.h"

namespace wavetune::cli {
namespace {

using template_files::EmbeddedFile;
using template_files::kTemplateFiles;

constexpr size_t kMostPythonWrites = size_t{16} << 20;

struct Template {
  absl::string_view like;
  absl::string_view what;
  // Folders that are copied: for OpenCL devices that are CPUs, and for GPUs,
  // whose manifest has an implementation for each backend.
  absl::string_view cpu;
  absl::string_view gpu;
  // What a kernel is called there; the longest first, where one begins another.
  std::vector<absl::string_view> names;
};

const std::vector<Template>& Templates() {
  static const auto& templates = *new std::vector<Template>{
      {"gemm",
       "a matrix product in tiles: two axes in the grid, one in the loop",
       "gemm_f32",
       "gpu_gemm",
       {"gemm_f32", "gpu_gemm"}},
      {"row",
       "a normalisation of rows: rows in the grid, columns in a loop, counted",
       "rms_norm",
       "gpu_rms_norm",
       {"rms_norm", "gpu_rms_norm"}},
      {"pointwise",
       "a function of each element: two axes in the grid, elements counted",
       "gelu",
       "gpu_gelu",
       {"gelu", "gpu_gelu"}},
      {"conv",
       "a convolution: one axis of the grid over three dimensions, the loop "
       "over three others, a stride for each specialisation",
       "conv2d",
       "gpu_conv2d",
       {"conv2d", "gpu_conv2d"}},
      {"attention",
       "attention with grouped queries, causal and full: tiles of unequal "
       "length, whose work the mapping counts",
       "attention_counted",
       "gpu_attention",
       {"attention_counted", "gpu_attention", "attention"}},
      {"grouped",
       "matrix products of a mixture of experts: a list of rows, which may be "
       "0, in the grid",
       "grouped_gemm",
       "gpu_grouped_gemm",
       {"grouped_gemm", "gpu_grouped_gemm"}},
  };
  return templates;
}

struct Backend {
  absl::string_view name;
  absl::string_view ending;  // Of its sources' names.
  bool of_gpus;
};
constexpr Backend kBackends[] = {
    {"opencl", ".cl", false}, {"cuda", ".cu", true}, {"triton", ".py", true}};

bool IsReference(const EmbeddedFile& file) {
  return absl::StartsWith(file.name, "reference.");
}

// Empty where the template has no source for the backend.
absl::string_view FolderFor(const Template& of, const Backend& backend) {
  const absl::string_view folder = backend.of_gpus ? of.gpu : of.cpu;
  const bool has_source =
      absl::c_any_of(kTemplateFiles, [&](const EmbeddedFile& file) {
        return file.folder == folder && !IsReference(file) &&
               absl::EndsWith(file.name, backend.ending);
      });
  return has_source ? folder : "";
}

// What OpenCL C, CUDA C++ or Python keep for themselves and a kernel may well
// be called.
constexpr std::array kReserved = {
    "auto",     "break",    "case",   "char",     "const",     "constant",
    "continue", "default",  "do",     "double",   "else",      "enum",
    "extern",   "float",    "for",    "global",   "goto",      "half",
    "if",       "inline",   "int",    "kernel",   "local",     "long",
    "main",     "private",  "return", "restrict", "short",     "signed",
    "sizeof",   "static",   "struct", "switch",   "typedef",   "uniform",
    "union",    "unsigned", "void",   "volatile", "while",     "pipe",
    "register", "generic",  "bool",   "image2d",  "sampler_t", "and",
    "as",       "assert",   "class",  "def",      "del",       "delete",
    "except",   "from",     "import", "in",       "is",        "lambda",
    "new",      "not",      "or",     "pass",     "raise",     "template",
    "this",     "try",      "using",  "with",     "yield"};

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

// Returns the manifest without the implementations for other backends.
std::string OfBackend(absl::string_view manifest, absl::string_view backend) {
  constexpr absl::string_view kBegin = "\nimplementations {";
  std::string own;
  for (size_t at = 0; at < manifest.size();) {
    const size_t begin = manifest.find(kBegin, at);
    if (begin == absl::string_view::npos) {
      absl::StrAppend(&own, manifest.substr(at));
      break;
    }
    // It ends on its line, or where a line is a brace.
    const size_t line = manifest.find('\n', begin + 1);
    const size_t end = manifest[line - 1] == '}'
                           ? line
                           : manifest.find("\n}\n", begin + 1) + 2;
    const absl::string_view text = manifest.substr(begin, end - begin);
    absl::StrAppend(&own, manifest.substr(at, begin - at));
    if (absl::StrContains(text, absl::StrCat("backend: \"", backend, "\"")))
      absl::StrAppend(&own, text);
    at = end;
  }
  return own;
}

// How to go on, for a README: the kernel's checks, and its profile.
std::string Commands(absl::string_view name, const Backend& backend) {
  std::string text = absl::StrCat(
      "```\nwavetune kernels check ", name,
      " --plan         # faults, what constraints exclude, where it would be "
      "measured\n");
  if (backend.of_gpus) {
    absl::StrAppend(&text, "wavetune kernels compile ", name,
                    " --arch sm_90a --all    # every configuration, without a "
                    "GPU\n");
  }
  absl::StrAppend(&text, "wavetune kernels compile ", name,
                  " --all        # every configuration, against the "
                  "reference\n");
  if (!backend.of_gpus) {
    absl::StrAppend(&text, "wavetune kernels compile ", name,
                    " --guard-pages --all\n");
  }
  absl::StrAppend(&text, "wavetune bench ", name, " --shapes ", name,
                  "/shapes.csv --local --exhaustive    # without a daemon\n",
                  "wavetune reprofile --kernel ", name,
                  " --wait     # where the daemon's --kernels-dir holds this "
                  "folder\n",
                  "wavetune bench ", name, " --shapes ", name,
                  "/shapes.csv --exhaustive\n```\n");
  return text;
}

std::string Readme(absl::string_view name, const Template& of,
                   const Backend& backend) {
  const absl::string_view reference = backend.of_gpus ? ".cu" : ".cl";
  return absl::StrCat(
      "# ", name, "\n\nWritten by `wavetune kernels new ", name, " --like ",
      of.like, " --backend ", backend.name, "`: ", of.what, ".\n",
      "It profiles as it is. Make it yours, one file after the other:\n\n",
      "| file | what it is |\n|---|---|\n| `", name, backend.ending,
      "` | the kernel; correct at every problem that the manifest allows "
      "|\n",
      "| `reference", reference,
      "` | what its results are compared with: obvious rather than fast |\n",
      "| `manifest.textproto` | dimensions, parameters, how a problem becomes "
      "tiles and iterations, arguments, problems that callers ask for |\n",
      "| `shapes.csv` | problems to judge it on, none of which the manifest "
      "names |\n\n",
      "WaveTune's docs/manifest.md says what the fields mean.\n\n",
      Commands(name, backend));
}

absl::Status CheckName(const std::string& name) {
  if (!IsLowerName(name))
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name,
        "\" is no name for a kernel: give lower-case letters, digits and "
        "underscores, a letter first, at most 64"));
  if (absl::c_linear_search(kReserved, name))
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name,
                     "\" is a word of OpenCL C, CUDA C++ or Python; give "
                     "another name"));
  return absl::OkStatus();
}

// What a file of a template is called in the folder of kernel `name`; empty
// where it is of another backend.
std::string NameOf(const EmbeddedFile& file, const std::string& name,
                   const Backend& backend) {
  if (file.name == "manifest.textproto") return std::string(file.name);
  if (absl::EndsWith(file.name, ".csv")) return "shapes.csv";
  if (absl::StartsWith(file.name, "reference.")) return std::string(file.name);
  if (!absl::EndsWith(file.name, backend.ending)) return "";
  return absl::StrCat(name, backend.ending);
}

}  // namespace

std::vector<std::string> TemplateNames() {
  std::vector<std::string> names;
  for (const Template& of : Templates()) names.emplace_back(of.like);
  return names;
}

std::vector<std::string> TemplateBackends(absl::string_view like) {
  std::vector<std::string> names;
  for (const Backend& backend : kBackends) {
    if (absl::c_any_of(Templates(), [&](const Template& of) {
          return (like.empty() || of.like == like) &&
                 !FolderFor(of, backend).empty();
        })) {
      names.emplace_back(backend.name);
    }
  }
  return names;
}

absl::StatusOr<std::map<std::string, std::string>> KernelFromTemplate(
    const std::string& name, absl::string_view like,
    absl::string_view backend_name) {
  const auto of = absl::c_find_if(
      Templates(), [&](const Template& own) { return own.like == like; });
  if (of == Templates().end())
    return absl::InvalidArgumentError(
        absl::StrCat("there is no template \"", like, "\"; there are ",
                     absl::StrJoin(TemplateNames(), ", ")));
  const auto* const backend = absl::c_find_if(
      kBackends, [&](const Backend& own) { return own.name == backend_name; });
  if (backend == std::end(kBackends) || FolderFor(*of, *backend).empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no template \"", like, "\" for ", backend_name,
        "; there is one for ", absl::StrJoin(TemplateBackends(like), ", ")));
  RETURN_IF_ERROR(CheckName(name));
  const bool is_its_own = absl::c_linear_search(of->names, name);
  std::map<std::string, std::string> files;
  for (const EmbeddedFile& file : kTemplateFiles) {
    if (file.folder != FolderFor(*of, *backend)) continue;
    const std::string own = NameOf(file, name, *backend);
    if (own.empty()) continue;
    const bool is_source = own != "manifest.textproto" && own != "shapes.csv";
    if (is_source && !is_its_own && HasWord(file.content, name))
      return absl::InvalidArgumentError(
          absl::StrCat("the source of template ", like, " uses \"", name,
                       "\" for something else; give another name"));
    files[own] = Renamed(
        is_source ? file.content : OfBackend(file.content, backend_name),
        of->names, name);
  }
  files["README.md"] = Readme(name, *of, *backend);
  return files;
}

absl::StatusOr<std::map<std::string, std::string>> KernelFromTriton(
    const std::string& name, const std::string& from, const std::string& python,
    std::string* remarks) {
  RETURN_IF_ERROR(CheckName(name));
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> folder,
                   ScratchFolder::Create());
  const std::string written = folder->path() + "/files.json";
  const std::string said = folder->path() + "/said";
  absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(
      {python, "-c", std::string(template_files::kReadTriton), from, name,
       written},
      // Standard output is for our results, whatever a module prints.
      {.log_path = said, .output_path = "/dev/null"});
  if (!child.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        child.status().message(),
        ". A Triton function is read by Python: name an interpreter that has "
        "Triton with --python or WAVETUNE_PYTHON"));
  }
  ASSIGN_OR_RETURN(const int code, (*child)->Wait());
  *remarks = ReadInputFile(said, kMostPythonWrites).value_or("");
  absl::StripAsciiWhitespace(remarks);
  if (code != 0 && remarks->empty())
    *remarks = absl::StrCat(python, " ended with exit code ", code);
  if (code == kExitUsage) return absl::InvalidArgumentError(*remarks);
  if (code != 0) return absl::UnknownError(*remarks);
  ASSIGN_OR_RETURN(const std::string text,
                   ReadInputFile(written, kMostPythonWrites));
  std::map<std::string, std::string> files =
      Json::parse(text).get<std::map<std::string, std::string>>();
  absl::StrAppend(&files["README.md"], Commands(name, kBackends[2]));
  return files;
}

}  // namespace wavetune::cli
