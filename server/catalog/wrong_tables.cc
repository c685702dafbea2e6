#include "server/catalog/wrong_tables.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/exclusion.h"

namespace wavetune {
namespace {

std::string Format(const Table& table, const Configuration& configuration) {
  std::vector<std::string> values;
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    values.push_back(absl::StrCat(table.parameters[i], "=",
                                  configuration[static_cast<int>(i)]));
  }
  return absl::StrJoin(values, " ");
}

}  // namespace

bool Chooses(const Table& table, const std::string& specialisation,
             const Configuration& configuration) {
  for (const SubTable& sub : table.sub_tables) {
    if (sub.specialisation != specialisation) continue;
    return std::any_of(sub.portfolio.begin(), sub.portfolio.end(),
                       [&](const TableCandidate& candidate) {
                         return candidate.configuration == configuration;
                       });
  }
  return false;
}

absl::StatusOr<std::optional<std::string>> WhyWrong(SampleStore& samples,
                                                    const ProfileKey& key,
                                                    const Table& table) {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   samples.Generations(key));
  if (generations.empty() || generations.back() == kMeasuredGeneration) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::vector<CandidateRecord> candidates,
                   samples.LoadCandidates(key, generations.back()));
  for (const CandidateRecord& record : candidates) {
    const Configuration& configuration = record.candidate.configuration;
    if (!IsWrong(record.candidate) ||
        !Chooses(table, record.specialisation, configuration)) {
      continue;
    }
    return absl::StrCat("it chooses ", Format(table, configuration),
                        ", which computes wrong results");
  }
  return std::nullopt;
}

absl::Status CheckMayServeAgain(SampleStore& samples, const TableRecord& record,
                                const Table& table) {
  ASSIGN_OR_RETURN(const std::optional<std::string> wrong,
                   WhyWrong(samples, record.key, table));
  if (!wrong) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "table ", ShortDigest(record.digest), " must not serve again: ", *wrong));
}

void WithdrawWrongTables(SampleStore& samples, TableCatalog& tables,
                         int64_t now_us,
                         const std::function<void(const std::string&)>& warn) {
  const std::shared_ptr<const TableSnapshot> snapshot = tables.snapshot();
  for (const ServingTable& serving : snapshot->tables) {
    const TableRecord& record = serving.record;
    const auto name =
        absl::StrCat("table ", record.digest, " of kernel ", record.key.kernel);
    const auto why = WhyWrong(samples, record.key, serving.table->table());
    if (!why.ok()) {
      warn(absl::StrCat(name, " was not compared with its profile: ",
                        why.status().message()));
      continue;
    }
    if (!why->has_value()) continue;
    const absl::Status stored =
        tables.Withdraw(record.key, record, **why, now_us);
    warn(absl::StrCat(
        name, " is withdrawn: ", **why,
        stored.ok()
            ? ""
            : absl::StrCat("; the store did not take it: ", stored.message())));
  }
}

}  // namespace wavetune
