#include "profiler_agent/measure/fake_device.h"

#include "gtest/gtest.h"
#include "profiler_agent/measure/backend_contract_test.h"
#include "profiler_agent/measure/tiny_kernel.h"

namespace wavetune {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Fake, BackendContractTest,
    ::testing::Values(BackendContract{
        .create = [] { return std::make_unique<FakeBackend>(); },
        .kernel = [] { return TinyKernel("fake"); },
        .configuration = {16, 8, 0},
        .problem = {.extents = {100, 30}, .specialisation = "plain"},
        .correctness_problems = {{.extents = {7, 5},
                                  .specialisation = "plain"}}}));

}  // namespace
}  // namespace wavetune
