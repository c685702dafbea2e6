#include "server/jobs/table_outcome.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/catalog/wrong_tables.h"
#include "server/jobs/carry_over.h"

namespace wavetune {

std::vector<RejectedPoint> EvidenceOf(const VerificationPlan& plan,
                                      const std::vector<Sample>& measured) {
  const auto latency_us = [&](const Configuration& configuration,
                              const Problem& problem) {
    for (size_t i = 0; i < std::min(plan.items.size(), measured.size()); ++i) {
      if (plan.items[i].configuration == configuration &&
          plan.items[i].problem == problem) {
        return measured[i].latency_us;
      }
    }
    return 0.0;
  };
  std::vector<RejectedPoint> points;
  for (const VerificationPlan::Point& point : plan.points) {
    points.push_back(
        {.problem = point.problem,
         .weight = point.weight,
         .chosen_us = latency_us(point.chosen, point.problem),
         .incumbent_us = point.has_incumbent
                             ? latency_us(point.incumbent, point.problem)
                             : 0,
         .default_us =
             point.has_default
                 ? latency_us(point.default_configuration, point.problem)
                 : 0});
  }
  return points;
}

TableOutcome::TableOutcome(const JobServices& services, JobControl* control,
                           Incumbent* incumbent)
    : services_(services), control_(control), incumbent_(incumbent) {}

absl::Status TableOutcome::Promote(const KernelSpec& spec, FittedTable fitted,
                                   const std::string& remarks) {
  // After this point a cancelled job would promote all the same.
  RETURN_IF_ERROR(control_->CheckGoOn());
  const ProfileKey key = control_->record().key;
  // A job on an alike device stores what it finds wrong under the same key.
  ASSIGN_OR_RETURN(const auto wrong,
                   WhyWrong(*services_.samples, key, fitted.table));
  if (wrong) {
    Keep(absl::StrCat("another job found its choice wrong: ", *wrong, remarks));
    return absl::OkStatus();
  }
  const TableRecord* const serving = incumbent_->record();
  const absl::StatusOr<TableRecord> promoted = services_.tables->Promote(
      fitted.record, fitted.payload, serving ? serving->digest : "");
  if (absl::IsAborted(promoted.status())) {
    // Another device of the class promoted a table meanwhile, so the comparison
    // is out of date.
    *incumbent_ = Incumbent(spec, services_.tables->Incumbent(key));
    Reject(std::move(fitted), std::string(promoted.status().message()));
    Keep(absl::StrCat(promoted.status().message(), remarks));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(promoted.status());
  control_->Update([&](JobRecord& job) {
    job.digest = promoted->digest;
    job.message = fitted.record.why;
  });
  RETURN_IF_ERROR(WithdrawIfFoundWrongSince(*promoted, fitted.table));
  ForgetOldSamples(key);
  return absl::OkStatus();
}

void TableOutcome::Reject(FittedTable fitted, const std::string& why) {
  RejectedTable rejected{.record = std::move(fitted.record),
                         .reason = why,
                         .at_us = services_.clock->NowUs(),
                         .points = std::move(fitted.points)};
  rejected.record.why = why;
  rejected.record.digest = Sha256Hex(fitted.payload);
  services_.table_refused(rejected);
  const absl::Status kept =
      services_.tables->Reject(std::move(rejected), fitted.payload);
  has_evidence_ = kept.ok();
  if (!kept.ok()) {
    services_.warn(
        absl::StrCat("the table that job ", control_->record().id,
                     " did not promote is not kept: ", kept.message()));
  }
}

absl::Status TableOutcome::KeepIncumbent(const Verdict& verdict,
                                         const std::string& reason) {
  const ProfileKey key = control_->record().key;
  if (!verdict.incumbent_holds || incumbent_->comparable() == nullptr ||
      incumbent_->record()->key.fingerprint != key.fingerprint) {
    Keep(reason);
    return absl::OkStatus();
  }
  if (!incumbent_->IsStaleFor(key)) {
    Confirm(reason);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CarryOver(
      services_, control_, *incumbent_,
      absl::StrCat("a new table is no better, and this one was measured with "
                   "it: ",
                   reason)));
  ForgetOldSamples(key);
  return absl::OkStatus();
}

void TableOutcome::Keep(const std::string& reason) {
  control_->Update([&](JobRecord& job) {
    job.message = absl::StrCat("not promoted, ", incumbent_->ServesOnText(),
                               ": ", reason);
    if (has_evidence_) {
      absl::StrAppend(&job.message, "; see `wavetune tables rejected ",
                      job.key.kernel, "`");
    }
  });
  // Whoever profiles afresh again and again without a better table would keep
  // all of it, and read all of it each time.
  ForgetOldSamples(control_->record().key);
}

void TableOutcome::Withdraw(const TableRecord& table, const std::string& why) {
  const std::string name =
      absl::StrCat("table ", table.digest, " of kernel ", table.key.kernel);
  const absl::Status stored = services_.tables->Withdraw(
      control_->record().key, table, why, services_.clock->NowUs());
  if (!stored.ok()) {
    services_.warn(
        absl::StrCat(name,
                     " is withdrawn, which is stored as soon as it can "
                     "be: ",
                     stored.message()));
  }
  services_.warn(absl::StrCat(name, " is withdrawn: ", why));
}

absl::Status TableOutcome::WithdrawIfFoundWrongSince(
    const TableRecord& promoted, const Table& table) {
  ASSIGN_OR_RETURN(const auto wrong,
                   WhyWrong(*services_.samples, promoted.key, table));
  if (!wrong) return absl::OkStatus();
  control_->Update([&](JobRecord& job) {
    absl::StrAppend(&job.message,
                    "; withdrawn, as another job found its choice wrong "
                    "meanwhile: ",
                    *wrong);
  });
  Withdraw(promoted, *wrong);
  return absl::OkStatus();
}

void TableOutcome::ForgetOldSamples(const ProfileKey& key) {
  const absl::Status pruned =
      services_.samples->Prune(key, services_.settings->generations_kept);
  if (!pruned.ok()) {
    services_.warn(absl::StrCat("old samples of kernel ", key.kernel,
                                " stay: ", pruned.message()));
  }
}

void TableOutcome::Confirm(const std::string& reason) {
  Keep(reason);
  control_->Update(
      [&](JobRecord& job) { job.digest = incumbent_->record()->digest; });
}

}  // namespace wavetune
