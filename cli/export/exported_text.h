// What `wavetune export` writes: an engine's file, a list of Triton's
// configurations, and decisions as JSON. docs/engines.md describes each.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EXPORT_EXPORTED_TEXT_H_
#define WAVETUNE_CLI_EXPORT_EXPORTED_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/json.h"
#include "model/decide/compiled_table.h"
#include "wavetune/configuration.h"

namespace wavetune::cli {

// Returns a file that vLLM and SGLang read: {"1": {"BLOCK_SIZE_M": 16, ...},
// ...}, an entry for each of KeyTokens, ascending, and no other key, since a
// reader takes every key for a number. choices[i] is what is decided at i + 1
// tokens. Cannot fail.
std::string EngineFileText(const std::vector<std::string>& parameters,
                           absl::Span<const Configuration> choices);

// What a text says of where it is from, for people.
struct TableSource {
  std::string device;  // Label of the device that was profiled; may be empty.
  bool stale = false;
};

// Returns a Python module with KERNEL, DIGEST, DEFAULT and CONFIGS: the
// default, then the portfolio of the sub-tables, each configuration once, as
// triton.Config. Errors: FAILED_PRECONDITION where the parameters are not those
// of a Triton kernel (neither num_warps nor num_stages among them, or a name
// that Python cannot take as an argument).
absl::StatusOr<std::string> TritonConfigsText(
    const CompiledTable& compiled, const std::vector<int>& sub_tables,
    const TableSource& source);

// Returns what all decisions of a table have in common: "format", "kernel",
// "digest", "fingerprint", "silicon", "environment", "device", "stale",
// "parameters", "dimensions", "default". Cannot fail.
Json TableJson(const CompiledTable& compiled, const TableSource& source);

// Returns a decision: "configuration", "source", and "latency_us" and
// "relative_bound" or "reason". Cannot fail.
Json PlainDecisionJson(const std::vector<std::string>& parameters,
                       const Decision& decision);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_EXPORTED_TEXT_H_
