// Tables of a real kernel whose choices a test determines: for exporting and
// launching it.
#ifndef WAVETUNE_TESTS_LIB_EXPORT_TABLES_H_
#define WAVETUNE_TESTS_LIB_EXPORT_TABLES_H_

#include <string>
#include <vector>

#include "model/table/table.h"
#include "wavetune/configuration.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::testing {

// The silicon of an H200.
inline constexpr char kH200Silicon[] =
    "backend=cuda;arch=sm_90;mp=132;memory_mib=143771;partition=";

// Configurations of kernels/gemm_bf16: one that shares loads in clusters, one
// that splits k, one in ping-pong, and a portable one that is legal for every
// problem.
std::vector<Configuration> GemmConfigurations();

// Returns a table of `spec` without specialisations that prefers the
// configuration number `favourite` wherever it is legal, then the others in
// their order.
Table FavouringTable(const KernelSpec& spec, const std::string& fingerprint,
                     const std::vector<Configuration>& portfolio,
                     size_t favourite);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_EXPORT_TABLES_H_
