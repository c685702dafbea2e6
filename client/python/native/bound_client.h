// BoundClient: a Client as Python sees it (`wavetune.Client`).
//
// What talks to a daemon, or waits for a thread, runs without the GIL.
#ifndef WAVETUNE_CLIENT_PYTHON_NATIVE_BOUND_CLIENT_H_
#define WAVETUNE_CLIENT_PYTHON_NATIVE_BOUND_CLIENT_H_

#include <memory>
#include <string>
#include <utility>

#include "client/python/native/bound_tuner.h"
#include "nanobind/nanobind.h"
#include "wavetune/client.h"

namespace wavetune::python {

class BoundClient {
 public:
  explicit BoundClient(std::shared_ptr<Client> client)
      : client_(std::move(client)) {}
  ~BoundClient() { Close(); }
  BoundClient(const BoundClient&) = delete;
  BoundClient& operator=(const BoundClient&) = delete;

  // Returns the client, which lives on for a call that is under way when
  // another thread closes it. Throws a Python FailedPreconditionError where it
  // is closed. The caller holds the GIL.
  std::shared_ptr<Client> client() const;
  bool closed() const { return client_ == nullptr; }
  // As the destructor; does nothing where it is closed.
  void Close();

  // Returns a new tuner (owned by the caller), as Client::GetTuner. Throws
  // nb::python_error.
  BoundTuner* GetTuner(const std::string& kernel,
                       const TunerOptions& options) const;

  // Returns records of what Client::GetArguments does. Throws nb::python_error.
  nanobind::tuple GetArguments(const std::string& kernel) const;

 private:
  std::shared_ptr<Client> client_;  // Guarded by the GIL.
};

// Adds the class `Client` and the function `connect` to the module.
void AddClientType(nanobind::module_& module);

}  // namespace wavetune::python

#endif  // WAVETUNE_CLIENT_PYTHON_NATIVE_BOUND_CLIENT_H_
