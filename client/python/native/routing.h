// wavetune.ExpectedRouting and wavetune.engine_rule: expectations of an expert
// layer before it is launched (wavetune/expected_routing.h,
// model/kernel/engine_rule.h).
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_ROUTING_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_ROUTING_H_

#include "nanobind/nanobind.h"
#include "wavetune/expected_routing.h"

namespace wavetune::python {

// Returns what a caller says of a routing: "drawn", "even", or counts by
// expert, or by layer and expert. Throws InvalidArgumentError.
ExpertPopularity PopularityOf(const nanobind::object& given);

void AddRouting(nanobind::module_& module);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_ROUTING_H_
