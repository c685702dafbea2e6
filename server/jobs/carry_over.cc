#include "server/jobs/carry_over.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "server/catalog/wrong_tables.h"
#include "server/jobs/device_class.h"

namespace wavetune {
namespace {

void SayNotCarriedOver(JobControl* control, const Incumbent& incumbent,
                       absl::string_view why) {
  control->Update([&](JobRecord& job) {
    job.message =
        absl::StrCat("not carried over, ", incumbent.ServesOnText(), ": ", why);
  });
}

}  // namespace

bool StaysWithAttached(ExecutorDirectory& executors, const TableRecord& serving,
                       const std::string& environment_key) {
  return serving.how == PromotionKind::kCarriedOver &&
         !serving.IsFor(environment_key) &&
         !AttachedOfClass(executors, serving.key).empty();
}

absl::Status CarryOver(const JobServices& services, JobControl* control,
                       const Incumbent& incumbent, const std::string& why) {
  // After this point a cancelled job would carry it over all the same.
  RETURN_IF_ERROR(control->CheckGoOn());
  const JobRecord job = control->record();
  ASSIGN_OR_RETURN(const auto wrong, WhyWrong(*services.samples, job.key,
                                              incumbent.comparable()->table()));
  if (wrong) {
    SayNotCarriedOver(control, incumbent,
                      absl::StrCat("its choice was found wrong: ", *wrong));
    return absl::OkStatus();
  }
  const absl::StatusOr<TableRecord> carried = services.tables->CarryOver(
      *incumbent.record(), {.key = job.key,
                            .job_id = job.id,
                            .by = job.by,
                            .why = why,
                            .now_us = services.clock->NowUs()});
  if (absl::IsAborted(carried.status())) {
    SayNotCarriedOver(control, incumbent, carried.status().message());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(carried.status());
  control->Update([&](JobRecord& record) {
    record.digest = carried->digest;
    record.message =
        absl::StrCat("carried over, epoch ", carried->epoch, ": ", why);
  });
  return absl::OkStatus();
}

}  // namespace wavetune
