#include "client/src/verified_table.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/table/table_codec.h"

namespace wavetune {
namespace {

absl::Status CheckAnnounced(absl::string_view what, absl::string_view announced,
                            absl::string_view is, const std::string& digest) {
  if (announced == is) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("table ", ShortDigest(digest), " was announced for ", what,
                   " \"", announced, "\", its payload is for \"", is, "\""));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledTable>> Verify(
    const FetchedTable& fetched) {
  const v1::TableInfo& info = fetched.info;
  // First, because it names what all other faults come from.
  if (const std::string digest = Sha256Hex(fetched.payload);
      digest != info.digest()) {
    return absl::DataLossError(absl::StrCat("the table's digest is ", digest,
                                            ", announced was ", info.digest(),
                                            "; fetch it again"));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledTable> compiled,
                   CompiledTable::Create(fetched.payload));
  const Table& table = compiled->table();
  const std::string& digest = compiled->digest();
  RETURN_IF_ERROR(
      CheckAnnounced("kernel", info.kernel(), table.kernel, digest));
  RETURN_IF_ERROR(CheckAnnounced("fingerprint", info.fingerprint(),
                                 table.fingerprint, digest));
  RETURN_IF_ERROR(
      CheckAnnounced("silicon", info.silicon_key(), table.silicon_key, digest));
  RETURN_IF_ERROR(CheckAnnounced("environment", info.environment_key(),
                                 table.environment_key, digest));
  return compiled;
}

absl::StatusOr<FetchedTable> FromPayload(std::string payload) {
  ASSIGN_OR_RETURN(const Table table, DecodeTable(payload));
  FetchedTable fetched;
  GIVE_FIELDS(table, fetched.info, kernel, fingerprint, silicon_key,
              environment_key);
  fetched.info.set_digest(Sha256Hex(payload));
  fetched.info.set_size_bytes(static_cast<int64_t>(payload.size()));
  fetched.payload = std::move(payload);
  return fetched;
}

absl::Status CheckIdentity(const v1::TableInfo& info, const std::string& kernel,
                           const std::string& fingerprint) {
  if (info.kernel() == kernel &&
      absl::StartsWith(info.fingerprint(), fingerprint))
    return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "table ", ShortDigest(info.digest()), " is for kernel \"", info.kernel(),
      "\", ", Describe(info), ", not for kernel \"", kernel, "\"",
      fingerprint.empty() ? "" : ", fingerprint ", fingerprint));
}

std::string Describe(const v1::TableInfo& info) {
  return absl::StrCat(
      "fingerprint ", info.fingerprint().substr(0, 12),
      info.device_uuid().empty() ? "" : ", device ", info.device_uuid(),
      info.device_label().empty() ? "" : " (", info.device_label(),
      info.device_label().empty() ? ", " : "), ", info.silicon_key(),
      ", digest ", ShortDigest(info.digest()));
}

}  // namespace wavetune
