// The C API's handles for tests, closed by themselves.
#ifndef WAVETUNE_CLIENT_C_TEST_HANDLES_H_
#define WAVETUNE_CLIENT_C_TEST_HANDLES_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "wavetune/wavetune.h"

namespace wavetune::testing {

struct CloseHandle {
  void operator()(wavetune_client* client) const {
    wavetune_client_close(client);
  }
  void operator()(wavetune_tuner* tuner) const { wavetune_tuner_close(tuner); }
};
using ClientHandle = std::unique_ptr<wavetune_client, CloseHandle>;
using TunerHandle = std::unique_ptr<wavetune_tuner, CloseHandle>;

// Return new objects; the test fails where there is none.
inline ClientHandle ConnectInC(const wavetune_client_options& options) {
  wavetune_client* client = nullptr;
  EXPECT_EQ(wavetune_client_connect(&options, &client), WAVETUNE_OK)
      << wavetune_last_error();
  return ClientHandle(client);
}
inline ClientHandle ConnectInC(const std::string& endpoint,
                               const std::string& cache_dir) {
  wavetune_client_options options = WAVETUNE_CLIENT_OPTIONS_INIT;
  options.endpoint = endpoint.c_str();
  options.cache_dir = cache_dir.c_str();
  return ConnectInC(options);
}

// `options` may be null.
inline TunerHandle GetTunerInC(
    wavetune_client* client, const std::string& kernel,
    const wavetune_tuner_options* options = nullptr) {
  wavetune_tuner* tuner = nullptr;
  EXPECT_EQ(wavetune_client_get_tuner(client, kernel.c_str(), options, &tuner),
            WAVETUNE_OK)
      << wavetune_last_error();
  return TunerHandle(tuner);
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_CLIENT_C_TEST_HANDLES_H_
