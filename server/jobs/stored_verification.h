// Verification from what is stored, for refitting without a device.
#ifndef WAVETUNE_SERVER_JOBS_STORED_VERIFICATION_H_
#define WAVETUNE_SERVER_JOBS_STORED_VERIFICATION_H_

#include <vector>

#include "fit/profile.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/sample.h"

namespace wavetune {

// Returns a plan over the problems at which the new table's choice, the
// incumbent's (the default's where `incumbent` is nullptr) and the default were
// all measured, and fills `measured` with the last sample of each item.
// Where the default is excluded it is not compared with. Cannot fail: the plan
// may be empty.
VerificationPlan PlanStoredVerification(const ProfileInput& input,
                                        const CompiledTable& table,
                                        const CompiledTable* incumbent,
                                        std::vector<Sample>* measured);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_STORED_VERIFICATION_H_
