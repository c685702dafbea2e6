#include "client/python/native/bound_client.h"

#include <optional>

#include "absl/status/statusor.h"
#include "client/python/native/status_exception.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;
using Text = std::optional<std::string>;

BoundClient* Connect(const Text& endpoint, const Text& cache_dir,
                     double timeout_s) {
  const ClientOptions options = {.endpoint = endpoint.value_or(""),
                                 .cache_dir = cache_dir.value_or(""),
                                 .timeout_s = timeout_s};
  absl::StatusOr<std::unique_ptr<Client>> client;
  {
    nb::gil_scoped_release released;
    client = Client::Connect(options);
  }
  if (!client.ok()) ThrowStatus(client.status());
  return new BoundClient(*std::move(client));
}

}  // namespace

BoundClient::~BoundClient() {
  nb::gil_scoped_release released;
  client_ = nullptr;
}

BoundTuner* BoundClient::GetTuner(const std::string& kernel,
                                  const TunerOptions& options) const {
  absl::StatusOr<Tuner> tuner = absl::InternalError("not asked");
  {
    nb::gil_scoped_release released;
    tuner = client_->GetTuner(kernel, options);
  }
  if (!tuner.ok()) ThrowStatus(tuner.status());
  return new BoundTuner(*std::move(tuner));
}

void AddClientType(nb::module_& module) {
  nb::class_<BoundClient>(
      module, "Client", nb::is_final(),
      "Fetches tables from the node's daemon; from connect(). May be used from "
      "any thread.")
      .def(
          "tuner",
          [](const BoundClient& self, const std::string& kernel,
             const Text& device, const Text& fingerprint,
             const Text& specialisation, const Text& digest) {
            return self.GetTuner(kernel,
                                 {.device = device.value_or(""),
                                  .fingerprint = fingerprint.value_or(""),
                                  .specialisation = specialisation.value_or(""),
                                  .digest = digest.value_or("")});
          },
          "kernel"_a, nb::kw_only(), "device"_a = nb::none(),
          "fingerprint"_a = nb::none(), "specialisation"_a = nb::none(),
          "digest"_a = nb::none(),
          // What keeps a tuner's table up to date belongs to the client.
          nb::keep_alive<0, 1>(),
          "Returns the tuner of a kernel: its table from the daemon, else from "
          "the local cache,\nelse the kernel's defaults.\n\n"
          "device, fingerprint: needed only where several tables fit; "
          "specialisation: where the\nkernel has several; digest: pins one "
          "table.")
      .def("__repr__", [](const BoundClient&) { return "<wavetune.Client>"; });
  module.def("connect", Connect, "endpoint"_a = nb::none(), nb::kw_only(),
             "cache_dir"_a = nb::none(), "timeout_s"_a,
             nb::rv_policy::take_ownership,
             "As wavetune.connect, which sets the defaults. cache_dir: "
             "\"auto\", a folder, or None for no cache.");
}

}  // namespace wavetune::python
