#include "cli/export/engine_kernel.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/format.h"
#include "model/kernel/configuration_text.h"
#include "model/table/kernel_match.h"

namespace wavetune::cli {
namespace {

// The parameters of the engines' experts' kernel, as their files name them.
const std::vector<std::string>& EngineParameters() {
  static const auto* const names = new std::vector<std::string>{
      "BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
      "GROUP_SIZE_M", "num_warps",    "num_stages"};
  return *names;
}

bool Has(const std::vector<std::string>& names, absl::string_view name) {
  return std::any_of(names.begin(), names.end(), [name](const std::string& n) {
    return absl::string_view(n) == name;
  });
}

// Returns the names of `a` that `b` lacks.
std::vector<std::string> NamesWithout(const std::vector<std::string>& a,
                                      const std::vector<std::string>& b) {
  std::vector<std::string> rest;
  std::copy_if(a.begin(), a.end(), std::back_inserter(rest),
               [&b](const std::string& name) { return !Has(b, name); });
  return rest;
}

void CheckParameters(const KernelSpec& spec, absl::string_view engine,
                     std::vector<std::string>& faults) {
  const std::vector<std::string> own = ParameterNames(spec);
  const std::vector<std::string> missing =
      NamesWithout(EngineParameters(), own);
  const std::vector<std::string> more = NamesWithout(own, EngineParameters());
  if (!missing.empty()) {
    faults.push_back(absl::StrCat("it has no parameter ",
                                  absl::StrJoin(missing, ", "), ", which ",
                                  engine, "'s files must have"));
  }
  if (!more.empty()) {
    faults.push_back(absl::StrCat("it has the parameter ",
                                  absl::StrJoin(more, ", "), ", which ", engine,
                                  "'s kernel does not take"));
  }
}

void CheckTable(const KernelSpec& spec, const Table& table,
                std::vector<std::string>& faults) {
  if (table.kernel != spec.name) {
    faults.push_back(
        absl::StrCat("the table is of kernel \"", table.kernel, "\""));
  } else if (table.parameters != ParameterNames(spec) ||
             table.dimensions != spec.dimensions) {
    faults.push_back(
        "the table is of another version of the kernel, with other parameters "
        "or dimensions: profile it again, or give the folder of that version");
  } else if (const absl::Status legal = CheckChoices(spec, table);
             !legal.ok()) {
    faults.emplace_back(legal.message());
  }
}

void CheckProducts(const ServedMoe& moe, const Table& table,
                   std::vector<std::string>& faults) {
  for (const std::string& name : {moe.gate_up, moe.down}) {
    const bool there = std::any_of(
        table.sub_tables.begin(), table.sub_tables.end(),
        [&name](const SubTable& sub) { return sub.specialisation == name; });
    if (there) continue;
    faults.push_back(absl::StrCat("the table has nothing for specialisation \"",
                                  name, "\": profile the kernel again"));
  }
}

// Whether the manifest describes an expert layer, and the table is of it.
void CheckExperts(const KernelSpec& spec, const Table& table,
                  std::vector<std::string>& faults) {
  CheckTable(spec, table, faults);
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe != nullptr) return CheckProducts(*moe, table, faults);
  faults.emplace_back(
      "its manifest does not say which dimensions and specialisations are an "
      "expert layer's (serves { moe { ... } })");
}

}  // namespace

absl::StatusOr<ServedMoe> ExpertProducts(const KernelSpec& spec,
                                         const Table& table) {
  std::vector<std::string> faults;
  CheckExperts(spec, table, faults);
  if (faults.empty()) return std::get<ServedMoe>(spec.serves);
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel \"", spec.name, "\" decides for no expert layer:\n  ",
      absl::StrJoin(faults, "\n  "),
      "\nname problems instead, such as m=1,16,64 n=4096 k=4096"));
}

absl::StatusOr<ServedMoe> EngineKernel(const KernelSpec& spec,
                                       const Table& table,
                                       absl::string_view engine) {
  std::vector<std::string> faults;
  CheckExperts(spec, table, faults);
  const auto* const moe = std::get_if<ServedMoe>(&spec.serves);
  if (moe != nullptr && !Has(moe->engines, engine)) {
    faults.push_back(absl::StrCat("its manifest does not say that ", engine,
                                  " launches it (serves { moe { engines: \"",
                                  engine, "\" } })"));
  }
  CheckParameters(spec, engine, faults);
  if (faults.empty()) return *moe;
  return absl::FailedPreconditionError(
      absl::StrCat("kernel \"", spec.name, "\" cannot be exported to ", engine,
                   ":\n  ", absl::StrJoin(faults, "\n  "),
                   "\n--format json and triton-autotune take every kernel"));
}

}  // namespace wavetune::cli
