// Heads, keys, devices and waiting for tests of a fleet.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_TEST_SUPPORT_H_
#define WAVETUNE_SERVER_FLEET_FLEET_TEST_SUPPORT_H_

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/signing_key.h"
#include "model/kernel/device.h"
#include "server/fleet/fleet_head.h"

namespace wavetune::testing {

inline FleetHead TestHead() {
  return {.fleet = "/wavetune/",
          .key = {"gemm", std::string(64, 'f'),
                  "backend=cuda;arch=sm_90;mp=132", "driver=1.0"},
          .digest = std::string(64, 'd'),
          .epoch = 7,
          .carried_from = "driver=0.9",
          .compiler = "nvrtc 13.0",
          .fit_residual = 0.02,
          .node = "node-1",
          .published_at_us = 1'700'000'000'000'000,
          .why = "1.4 times as fast as the default"};
}

// Returns the key that is made of the seed. Cannot fail.
inline SigningKey TestSigningKey(char seed) {
  return SigningKey::FromSecret(std::string(32, seed)).value();
}

inline DeviceFacts TestFleetDevice(const std::string& uuid = "CPU-1") {
  return {.uuid = uuid,
          .label = "a CPU",
          .backend = "opencl",
          .multiprocessors = 4,
          .driver = "1",
          .compiler = "PoCL 3.1"};
}

// Waits, half a minute at most.
inline bool Eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// Expects what another thread comes to: waits for it as Eventually does, and
// says what it is instead.
#define EXPECT_SOON(value, matcher)                            \
  do {                                                         \
    ::wavetune::testing::Eventually(                           \
        [&] { return ::testing::Value((value), (matcher)); }); \
    EXPECT_THAT((value), (matcher));                           \
  } while (false)

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_FLEET_FLEET_TEST_SUPPORT_H_
