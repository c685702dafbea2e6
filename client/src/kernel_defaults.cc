#include "client/src/kernel_defaults.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

absl::Status CheckSpecialisation(const std::string& kernel,
                                 const std::string& wanted,
                                 const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), wanted) != known.end())
    return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "kernel \"", kernel, "\" has no specialisation \"", wanted,
      "\"; it has: ",
      absl::StrJoin(known, ", ", [](std::string* out, const std::string& name) {
        absl::StrAppend(out, "\"", name, "\"");
      })));
}

absl::StatusOr<v1::KernelSpec> ReadManifest(const std::string& path,
                                            const std::string& kernel) {
  std::error_code error;
  const std::string file = std::filesystem::is_directory(path, error)
                               ? path + "/manifest.textproto"
                               : path;
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file));
  ASSIGN_OR_RETURN(v1::KernelSpec spec, ParseManifest(text));
  if (spec.name() == kernel) return spec;
  return absl::InvalidArgumentError(
      absl::StrCat("the manifest ", file, " is of kernel \"", spec.name(),
                   "\", not \"", kernel, "\""));
}

}  // namespace

absl::StatusOr<KernelDefaults> DefaultsOf(const v1::KernelSpec& kernel,
                                          absl::Span<const DeviceFacts> devices,
                                          const std::string& specialisation) {
  ASSIGN_OR_RETURN(const KernelSpec spec, KernelSpecFromProto(kernel));
  return DefaultsOf(spec, devices, specialisation);
}

absl::StatusOr<KernelDefaults> DefaultsOf(const KernelSpec& spec,
                                          absl::Span<const DeviceFacts> devices,
                                          const std::string& specialisation) {
  RETURN_IF_ERROR(CheckSpecialisation(spec.name, specialisation,
                                      spec.SpecialisationNames()));
  KernelDefaults defaults{.dimensions = spec.dimensions};
  for (const Parameter& parameter : spec.parameters)
    defaults.parameters.push_back(parameter.name);
  ASSIGN_OR_RETURN(defaults.configuration, DefaultForDevices(spec, devices));
  return defaults;
}

absl::StatusOr<KernelDefaults> DefaultsOf(const Table& table,
                                          const std::string& specialisation) {
  std::vector<std::string> known;
  for (const SubTable& sub : table.sub_tables)
    known.push_back(sub.specialisation);
  RETURN_IF_ERROR(CheckSpecialisation(table.kernel, specialisation, known));
  return KernelDefaults{.parameters = table.parameters,
                        .dimensions = table.dimensions,
                        .configuration = table.default_configuration};
}

absl::StatusOr<KernelSpec> SpecOfManifest(const std::string& path,
                                          const std::string& kernel) {
  ASSIGN_OR_RETURN(const v1::KernelSpec spec, ReadManifest(path, kernel));
  return KernelSpecFromProto(spec);
}

std::vector<KernelArgument> ArgumentsOf(const KernelSpec& spec) {
  std::vector<KernelArgument> arguments;
  for (const Argument& argument : spec.arguments) {
    arguments.push_back(
        {.name = argument.name,
         .role = RoleName(argument.role),
         .type = absl::AsciiStrToLower(ManifestTypeName(argument.type))});
  }
  return arguments;
}

}  // namespace wavetune
