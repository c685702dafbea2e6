// GuardPageMemory: arguments that end, or begin, at a page that nobody may
// touch. An access beyond it ends the process with SIGSEGV, in the instruction
// that does it: also a read whose value is thrown away, which poison does not
// show. A vector that is read across an argument's end is such a read.
//
// Only on CPU devices whose driver works on the host's memory in place (PoCL).
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_GUARD_PAGES_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_GUARD_PAGES_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "profiler_agent/measure/result_check.h"
#include "profiler_agent/opencl/opencl_handle.h"

namespace wavetune {

class GuardPageMemory : public CheckMemory {
 public:
  enum class Side : uint8_t {
    // The page begins where the argument ends, so that it lies at an address
    // that is aligned to its elements alone. Where its manifest asks for more
    // (Argument::aligned) poison is between them.
    kEnd,
    kBegin,
  };

  // `session` outlives it. Installs the handler that names the argument.
  GuardPageMemory(const OpenClSession& session, Side side);

  Guards GuardsOf(const Argument& argument, size_t bytes) const override;
  absl::StatusOr<std::unique_ptr<CheckBuffer>> Allocate(
      const Argument& argument, size_t bytes) override;

 private:
  const OpenClSession& session_;
  const Side side_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_GUARD_PAGES_H_
