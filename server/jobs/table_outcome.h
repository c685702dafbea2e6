// TableOutcome: what becomes of a table that a profiling job fitted. It is
// promoted, or kept with its evidence while the incumbent serves on; the job's
// record says which, and why.
//
// Thread safety: none; used by the job's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_TABLE_OUTCOME_H_
#define WAVETUNE_SERVER_JOBS_TABLE_OUTCOME_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fit/plan/verification.h"
#include "model/kernel/sample.h"
#include "model/table/table.h"
#include "server/jobs/incumbent.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

struct KernelSpec;

struct FittedTable {
  Table table;
  std::string payload;                // The bytes of `table`.
  TableRecord record;                 // `why` is the verdict.
  std::vector<RejectedPoint> points;  // What verification measured.
};

// Returns what verification measured at its points; `measured` answers
// plan.items in order. Cannot fail.
std::vector<RejectedPoint> EvidenceOf(const VerificationPlan& plan,
                                      const std::vector<Sample>& measured);

class TableOutcome {
 public:
  // All outlive this. `incumbent` is what the table was compared with; another
  // one that was promoted meanwhile takes its place.
  TableOutcome(const JobServices& services, JobControl* control,
               Incumbent* incumbent);

  // Promotes the table, unless another job promoted, or found a choice of it
  // wrong, meanwhile. `remarks` are for the job's message then. Errors:
  // CANCELLED; the stores'.
  absl::Status Promote(const KernelSpec& spec, FittedTable fitted,
                       const std::string& remarks);

  // Keeps a table that is not promoted, with what verification measured. What
  // cannot be kept is warned of: the job's outcome is the same.
  void Reject(FittedTable fitted, const std::string& why);

  // Ends without a promotion of the new table. An incumbent of another
  // environment that verification found to hold is carried over, one of this
  // environment is the job's result. Errors: CarryOver's.
  absl::Status KeepIncumbent(const Verdict& verdict, const std::string& reason);

  // Ends without a promotion.
  void Keep(const std::string& reason);
  // Ends so, and the incumbent is what the job ends with: it was found to be as
  // good as what the job has made.
  void Confirm(const std::string& reason);

  // Ends the serving of a table, and says so; kept for later where the store
  // cannot take it.
  void Withdraw(const TableRecord& table, const std::string& why);

 private:
  // Between the last look and the promotion a job on an alike device may have
  // found a choice of the table wrong.
  absl::Status WithdrawIfFoundWrongSince(const TableRecord& promoted,
                                         const Table& table);
  // Removes the generations beyond those that are kept.
  void ForgetOldSamples(const ProfileKey& key);

  const JobServices& services_;
  JobControl* const control_;
  Incumbent* const incumbent_;
  bool has_evidence_ = false;  // For a table that it did not promote.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_TABLE_OUTCOME_H_
