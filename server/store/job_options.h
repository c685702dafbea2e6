// JobOptions: what a job that profiles was asked to do. Whoever asks fills
// them in, and they stay with the job's record as they are.
//
// Thread safety: a plain value.
#ifndef WAVETUNE_SERVER_STORE_JOB_OPTIONS_H_
#define WAVETUNE_SERVER_STORE_JOB_OPTIONS_H_

#include <cstdint>
#include <string>

namespace wavetune {

struct JobOptions {
  // Zeros of a request mean the defaults: the daemon's, of the portfolio the
  // kernel's (KernelSpec).
  double budget_s = 0;
  int32_t samples_per_candidate = 0;
  int32_t portfolio_size = 0;
  bool refit_only = false;
  bool even_if_busy = false;  // Measures while others use the device, too.
  // A few more samples where a profile was made before (usage_top_ups.h).
  bool top_up = false;
  // Promotes although more than a quarter of the checked candidates are wrong.
  bool promote_although_wrong = false;
  // Promotes although the kernel is slower than what the serving table is of.
  bool promote_although_slower = false;
  // A drift probe first (drift_job.h): it decides how much is measured.
  bool drift_probe = false;
  // Not empty: no profile, but a look at whether the serving table of this
  // digest holds. With `drift_probe`, of one kernel.
  std::string verify_digest;
  // With it: also that it is no worse than the table of this digest, which it
  // takes the place of; empty: than the default alone.
  std::string against_digest;

  friend bool operator==(const JobOptions&, const JobOptions&) = default;
};

// The options that a request over the wire has. The messages
// wavetune.v1.ReprofileRequest and StoredJob have fields of these names: a new
// option is named here (base/copy_fields.h).
#define WAVETUNE_REQUESTED_OPTIONS                                           \
  budget_s, samples_per_candidate, portfolio_size, refit_only, even_if_busy, \
      promote_although_wrong, promote_although_slower, verify_digest

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_JOB_OPTIONS_H_
