#include "cli/lookup.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "formats/kernel_spec.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {

absl::StatusOr<KnownKernel> FindKernel(Daemon& daemon,
                                       const std::string& name) {
  ASSIGN_OR_RETURN(
      v1::ListKernelsResponse response,
      daemon.Ask<v1::ListKernelsResponse>(v1::ListKernelsRequest()));
  std::vector<std::string> names;
  for (const v1::KernelStatus& kernel : response.kernels()) {
    names.push_back(kernel.spec().name());
    if (kernel.spec().name() != name) continue;
    if (!kernel.problem().empty())
      return absl::FailedPreconditionError(
          absl::StrCat("kernel \"", name, "\" in ", kernel.path(),
                       " is refused:\n", kernel.problem()));
    ASSIGN_OR_RETURN(KernelSpec spec, KernelSpecFromProto(kernel.spec()));
    return KnownKernel{.status = kernel, .spec = std::move(spec)};
  }
  return absl::NotFoundError(
      absl::StrCat("the daemon has no kernel \"", name, "\"; it has: ",
                   names.empty() ? "none (see wavetuned --kernels-dir)"
                                 : absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::string> FindKernelFolder(const CommandContext& context,
                                             const std::string& kernel) {
  std::error_code error;
  if (std::filesystem::is_directory(kernel, error) ||
      kernel.find('/') != std::string::npos)
    return kernel;
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(KnownKernel known, FindKernel(*daemon, kernel));
  return known.status.path();
}

namespace {

constexpr size_t kDigestLength = 64;
// Fewer hex digits are taken for a kernel's name.
constexpr size_t kMinDigestPrefix = 8;

bool LooksLikeDigest(const std::string& text) {
  return text.size() >= kMinDigestPrefix && text.size() <= kDigestLength &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

absl::StatusOr<v1::GetTableRequest> RequestFor(Daemon& daemon,
                                               const TableQuestion& question) {
  v1::GetTableRequest request;
  if (LooksLikeDigest(question.table)) {
    // The same payload may serve several environments.
    std::set<std::string> digests;
    if (question.table.size() < kDigestLength) {
      ASSIGN_OR_RETURN(
          v1::ListTablesResponse list,
          daemon.Ask<v1::ListTablesResponse>(v1::ListTablesRequest()));
      for (const v1::TableInfo& info : list.tables()) {
        if (absl::StartsWith(info.digest(), question.table))
          digests.insert(info.digest());
      }
    } else {
      digests.insert(question.table);
    }
    if (digests.size() > 1)
      return absl::FailedPreconditionError(
          absl::StrCat("several tables begin with ", question.table, ":\n  ",
                       absl::StrJoin(digests, "\n  ")));
    if (digests.size() == 1) {
      request.set_digest(*digests.begin());
      return request;
    }
  }
  request.set_kernel(question.table);
  request.set_device_uuid(question.device);
  request.set_fingerprint(question.fingerprint);
  return request;
}

}  // namespace

absl::StatusOr<v1::GetTableResponse> FindTable(Daemon& daemon,
                                               const TableQuestion& question) {
  ASSIGN_OR_RETURN(v1::GetTableRequest request, RequestFor(daemon, question));
  ASSIGN_OR_RETURN(v1::GetTableResponse response,
                   daemon.Ask<v1::GetTableResponse>(request));
  if (Sha256Hex(response.payload()) == response.info().digest())
    return response;
  return absl::DataLossError(
      absl::StrCat("the payload of table ", response.info().digest(),
                   " does not have its digest; fetch it again"));
}

}  // namespace wavetune::cli
