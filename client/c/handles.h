// The objects behind the C ABI's opaque handles.
#ifndef WAVETUNE_CLIENT_C_HANDLES_H_
#define WAVETUNE_CLIENT_C_HANDLES_H_

#include <memory>

#include "wavetune/client.h"
#include "wavetune/tuner.h"
#include "wavetune/wavetune.h"

struct wavetune_client {
  std::unique_ptr<wavetune::Client> client;
};

struct wavetune_tuner {
  wavetune::Tuner tuner;
};

#endif  // WAVETUNE_CLIENT_C_HANDLES_H_
