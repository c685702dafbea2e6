#include "server/catalog/table_staleness.h"

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/key_difference.h"

namespace wavetune {
namespace {

constexpr size_t kShownDigits = 12;

// Returns why a table is current nowhere; empty: it may be.
std::string UnverifiedReason(const TableRecord& table) {
  if (!table.unverified) return "";
  switch (table.how) {
    case PromotionKind::kImported:
      return "imported, not verified here";
    case PromotionKind::kShipped:
      return "shipped with the kernel, not verified here";
    default:  // Rolled back to.
      return "from elsewhere, not verified here";
  }
}

std::string Fingerprints(const std::string& then, const std::string& now) {
  return absl::StrCat(" (fingerprint ", then.substr(0, kShownDigits), ", now ",
                      now.substr(0, kShownDigits), ")");
}

// A fingerprint is one digest over all; which part differs shows when only one
// of them is put back.
std::string FingerprintDifference(const TableRecord& table,
                                  const DeviceFacts& device,
                                  const std::string& now,
                                  KernelCatalog& kernels) {
  const std::string& then = table.key.fingerprint;
  const absl::StatusOr<std::shared_ptr<const KernelSpec>> spec =
      kernels.Spec(table.key.kernel);
  const std::string compiler =
      spec.ok() ? ImplementationFor(**spec, device).compiler : device.compiler;
  if (table.compiler.empty()) {
    return absl::StrCat("the kernel's manifest, sources or compiler are others",
                        Fingerprints(then, now));
  }
  if (table.compiler == compiler) {
    return absl::StrCat("the kernel's manifest or sources were edited",
                        Fingerprints(then, now));
  }
  std::string compilers =
      absl::StrCat("compiler \"", table.compiler, "\", now \"", compiler, "\"");
  if (spec.ok()) {
    if (DiffersByCompilerAlone(table, **spec, device, kernels)) {
      return compilers;
    }
  }
  return absl::StrCat(compilers,
                      ", and the kernel's manifest or sources were edited",
                      Fingerprints(then, now));
}

}  // namespace

bool DiffersByCompilerAlone(const TableRecord& table, const KernelSpec& spec,
                            const DeviceFacts& device, KernelCatalog& kernels) {
  if (table.compiler.empty()) return false;
  const absl::StatusOr<std::string> same = kernels.Fingerprint(
      table.key.kernel, WithCompiler(spec, device, table.compiler));
  return same.ok() && *same == table.key.fingerprint &&
         ImplementationFor(spec, device).compiler != table.compiler;
}

std::string StaleReason(const TableRecord& table, const DeviceFacts& device,
                        KernelCatalog& kernels) {
  std::vector<std::string> differences;
  if (table.unverified) differences.push_back(UnverifiedReason(table));
  const std::string environment = EnvironmentKey(device);
  if (!table.IsFor(environment)) {
    differences.push_back(
        KeyDifference(table.key.environment_key, environment));
  }
  const absl::StatusOr<std::string> fingerprint =
      kernels.Fingerprint(table.key.kernel, device);
  if (fingerprint.ok() && *fingerprint != table.key.fingerprint) {
    differences.push_back(
        FingerprintDifference(table, device, *fingerprint, kernels));
  }
  return absl::StrJoin(differences, "; ");
}

std::string StaleReason(const TableRecord& table,
                        const std::vector<DeviceFacts>& devices,
                        KernelCatalog& kernels) {
  const std::string unverified = UnverifiedReason(table);
  std::string first = unverified;
  for (const DeviceFacts& device : devices) {
    if (SiliconKey(device) != table.key.silicon_key) continue;
    std::string reason = StaleReason(table, device, kernels);
    if (reason.empty()) return "";
    if (first == unverified) first = std::move(reason);
  }
  return first;
}

}  // namespace wavetune
