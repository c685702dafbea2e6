// CandidatePool: which candidates a measuring job may use. It knows this from
// the store and, for those that nobody prepared yet, from the device.
//
// Thread safety: none; used by the job's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_CANDIDATE_POOL_H_
#define WAVETUNE_SERVER_JOBS_CANDIDATE_POOL_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/catalog/kernel_catalog.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_device.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

class CandidatePool {
 public:
  // All outlive this; `device` is bound to the kernel when Usable is called.
  CandidatePool(const JobServices& services, JobControl* control,
                JobDevice* device)
      : services_(services), control_(control), device_(device) {}

  // Takes the kernel's stored candidates: those of measuring jobs, and above
  // these the latest generation. Errors: the store's.
  absl::Status Load(std::shared_ptr<const TunableKernel> kernel,
                    const ProfileKey& key);

  // Returns the candidates of a specialisation that compile, in their order;
  // compiles those that nothing is known of. Errors: JobDevice::Prepare's.
  absl::StatusOr<std::vector<Configuration>> Usable(
      const std::string& specialisation);

  // Returns the same without compiling: what nothing is known of counts. Cannot
  // fail.
  std::vector<Configuration> Expected(const std::string& specialisation) const;

  // Returns whether a candidate is known and not excluded.
  bool IsUsable(const std::string& specialisation,
                const Configuration& configuration) const;

  // A candidate may not be used any more.
  void Exclude(const std::string& specialisation,
               const Configuration& configuration, const std::string& reason);

  // Returns why those that Exclude named may not be used.
  const std::map<std::pair<std::string, Configuration>, std::string>& crashed()
      const {
    return crashed_;
  }

  // Returns all that is known, excluded ones included, by specialisation and
  // configuration; only configurations of the kernel's space.
  std::vector<CandidateRecord> Records() const;

 private:
  void Take(const CandidateRecord& record);

  const JobServices& services_;
  JobControl* const control_;
  JobDevice* const device_;
  std::shared_ptr<const TunableKernel> kernel_;
  std::map<std::pair<std::string, Configuration>, Candidate> known_;
  std::map<std::pair<std::string, Configuration>, std::string> crashed_;
  std::set<std::string> prepared_;  // Specialisations.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_CANDIDATE_POOL_H_
