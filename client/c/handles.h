// What is behind the C ABI's opaque handles.
#ifndef WAVETUNE_CLIENT_C_HANDLES_H_
#define WAVETUNE_CLIENT_C_HANDLES_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "client/c/wavetune.h"
#include "client/client.h"
#include "client/tuner.h"

struct wavetune_client {
  std::unique_ptr<wavetune::Client> client;
};

namespace wavetune::c_api {

// Returns the ABI's number.
constexpr uint8_t OriginNumber(TableOrigin origin) {
  switch (origin) {
    case TableOrigin::kDaemon:
      return WAVETUNE_ORIGIN_DAEMON;
    case TableOrigin::kCache:
      return WAVETUNE_ORIGIN_CACHE;
    case TableOrigin::kDefaults:
      break;
  }
  return WAVETUNE_ORIGIN_DEFAULTS;
}

}  // namespace wavetune::c_api

struct wavetune_tuner {
  explicit wavetune_tuner(wavetune::Tuner t)
      : tuner(std::move(t)),
        origin(wavetune::c_api::OriginNumber(tuner.origin())) {}

  const wavetune::Tuner tuner;
  const uint8_t origin;  // Of a table that never changes.
};

#endif  // WAVETUNE_CLIENT_C_HANDLES_H_
