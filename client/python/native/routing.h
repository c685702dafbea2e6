// wavetune.ExpectedRouting and wavetune.engine_rule: what is known of an
// expert layer before it is launched (wavetune/expected_routing.h,
// model/kernel/engine_rule.h).
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_ROUTING_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_ROUTING_H_

#include "nanobind/nanobind.h"

namespace wavetune::python {

void AddRouting(nanobind::module_& module);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_ROUTING_H_
