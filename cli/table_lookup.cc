#include "cli/table_lookup.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"

namespace wavetune::cli {
namespace {

constexpr size_t kDigestLength = 64;
// Fewer hex digits are taken for a kernel's name.
constexpr size_t kMinDigestPrefix = 8;

bool LooksLikeDigest(const std::string& text) {
  return text.size() >= kMinDigestPrefix && text.size() <= kDigestLength &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

absl::StatusOr<v1::GetTableRequest> RequestFor(TableReader& tables,
                                               const TableQuestion& question) {
  v1::GetTableRequest request;
  if (LooksLikeDigest(question.table)) {
    std::vector<std::string> digests;
    if (question.table.size() < kDigestLength) {
      ASSIGN_OR_RETURN(v1::ListTablesResponse list, tables.ListTables({}));
      for (const v1::TableInfo& info : list.tables()) {
        if (absl::StartsWith(info.digest(), question.table))
          digests.push_back(info.digest());
      }
    } else {
      digests.push_back(question.table);
    }
    if (digests.size() > 1)
      return absl::FailedPreconditionError(
          absl::StrCat("several tables begin with ", question.table, ":\n  ",
                       absl::StrJoin(digests, "\n  ")));
    if (digests.size() == 1) {
      request.set_digest(digests[0]);
      return request;
    }
  }
  request.set_kernel(question.table);
  request.set_device_uuid(question.device);
  request.set_fingerprint(question.fingerprint);
  return request;
}

}  // namespace

absl::StatusOr<v1::GetTableResponse> FindTable(TableReader& tables,
                                               const TableQuestion& question) {
  ASSIGN_OR_RETURN(v1::GetTableRequest request, RequestFor(tables, question));
  ASSIGN_OR_RETURN(v1::GetTableResponse response, tables.GetTable(request));
  if (Sha256Hex(response.payload()) == response.info().digest())
    return response;
  return absl::DataLossError(
      absl::StrCat("the payload of table ", response.info().digest(),
                   " does not have its digest; fetch it again"));
}

}  // namespace wavetune::cli
