#include "client/python/native/bound_client.h"

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/python/native/interpreter_exit.h"
#include "client/python/native/kernel_records.h"
#include "client/python/native/routing.h"
#include "client/python/native/status_exception.h"
#include "client/src/client_settings.h"
#include "client/src/table_slot.h"
#include "model/kernel/kernel_spec.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"

namespace wavetune::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;
using Text = std::optional<std::string>;

// Returns a value, or throws its status as a Python exception.
template <typename T>
T ValueOf(absl::StatusOr<T> result) {
  if (!result.ok()) ThrowStatus(result.status());
  return *std::move(result);
}
void ValueOf(const absl::Status& status) {
  if (!status.ok()) ThrowStatus(status);
}

// Runs what talks to a daemon, without the GIL; as ValueOf.
template <typename Call>
auto Ask(Call call) {
  return ValueOf(WithoutGil(std::move(call)));
}

BoundClient* Connect(const Text& endpoint, std::optional<ClientMode> mode,
                     const Text& cache_dir, const Text& table_file,
                     const Text& pin, double timeout_s, bool watch,
                     bool usage_feedback) {
  const ClientOptions options = {.endpoint = endpoint.value_or(""),
                                 .cache_dir = cache_dir.value_or(""),
                                 .timeout_s = timeout_s,
                                 .mode = mode,
                                 .table_file = table_file.value_or(""),
                                 .pin = pin.value_or(""),
                                 .watch = watch,
                                 .usage_feedback = usage_feedback};
  return new BoundClient(Ask([&] { return Client::Connect(options); }));
}

BoundTuner* MakeTuner(const BoundClient& self, const std::string& kernel,
                      const Text& device, const Text& fingerprint,
                      const Text& specialisation, const Text& digest,
                      ActivationPolicy activation,
                      const std::optional<nb::iterable>& prepared,
                      bool prepares_on_demand, const Text& manifest) {
  std::unique_ptr<BoundTuner> tuner(
      self.GetTuner(kernel, {.device = device.value_or(""),
                             .fingerprint = fingerprint.value_or(""),
                             .specialisation = specialisation.value_or(""),
                             .digest = digest.value_or(""),
                             .activation = activation,
                             .prepares_on_demand = prepares_on_demand,
                             .manifest = manifest.value_or("")}));
  // Now, because it knows the parameters by name: a table that came meanwhile
  // is staged, and takes over now.
  if (prepared) tuner->SetPrepared(*prepared);
  return tuner.release();
}

nb::tuple GetKernels(const BoundClient& self) {
  return ToTuple(
      Ask([client = self.client()] { return client->GetKernels(); }));
}

// "<wavetune.Client of unix:/run/wavetune/reader.sock, mode auto, connected>".
std::string RepresentClient(const BoundClient& self) {
  if (self.closed()) return "<wavetune.Client, closed>";
  const std::shared_ptr<Client> client = self.client();
  return absl::StrCat("<wavetune.Client of ",
                      absl::StrJoin(client->endpoints(), ","), ", mode ",
                      ToString(client->mode()),
                      client->mode() != ClientMode::kAuto ? ""
                      : client->watching()                ? ", connected"
                                                          : ", not connected",
                      ">");
}

nb::object GetKernel(const BoundClient& self, const std::string& kernel) {
  const auto spec =
      Ask([&, client = self.client()] { return client->GetSpec(kernel); });
  return KernelRecord(*spec, self.GetArguments(kernel));
}

nb::object FindTable(const BoundClient& self, const std::string& kernel,
                     const Text& device, const Text& fingerprint,
                     const Text& digest, const Text& manifest) {
  const auto found = Ask([&, client = self.client()] {
    return client->FindTable(kernel, {.device = device.value_or(""),
                                      .fingerprint = fingerprint.value_or(""),
                                      .digest = digest.value_or(""),
                                      .manifest = manifest.value_or("")});
  });
  const Table& table = found->table->table();
  std::vector<std::string> specialisations;
  for (const SubTable& sub : table.sub_tables)
    specialisations.push_back(sub.specialisation);
  return Record("Table")(table.kernel, found->table->digest(),
                         table.fingerprint, table.silicon_key,
                         table.environment_key, found->device_label,
                         found->compiler, found->origin, found->stale,
                         found->stale_reason, ToTuple(specialisations));
}

nb::dict GetTableSet(const BoundClient& self) {
  const TableSet set = ValueOf(self.client()->GetTableSet());
  nb::dict result;
  for (const auto& [kernel, digest] : set.tables())
    result[kernel.c_str()] = digest;
  return result;
}

nb::list Events(const BoundClient& self) {
  const nb::object record = Record("Event");
  nb::list result;
  for (const ClientEvent& event : self.client()->events()) {
    result.append(record(event.kind, event.time_us, event.kernel, event.digest,
                         std::string(event.reason.message()), event.number));
  }
  return result;
}

Text LastProblem(const BoundClient& self) {
  const absl::Status problem = self.client()->last_problem();
  if (problem.ok()) return std::nullopt;
  return std::string(problem.message());
}

nb::object AddWorkload(const BoundClient& self, const std::string& name,
                       const nb::object& config, int64_t tensor_parallel,
                       int64_t expert_parallel, int64_t max_tokens,
                       const nb::object& routing) {
  const std::string text = ConfigText(config);
  const ExpertPopularity popularity = PopularityOf(routing);
  const DeclaredWorkload declared = Ask([&, client = self.client()] {
    return client->AddWorkload(name, text,
                               {.tensor_parallel = tensor_parallel,
                                .expert_parallel = expert_parallel,
                                .max_tokens = max_tokens,
                                .routing = popularity});
  });
  nb::dict problems;
  for (const auto& [kernel, count] : declared.problems)
    problems[kernel.c_str()] = count;
  nb::list notes;
  for (const std::string& note : declared.notes) notes.append(note);
  return Record("DeclaredWorkload")(declared.architecture, declared.unchanged,
                                    problems, nb::tuple(notes));
}

void AddTableSets(nb::class_<BoundClient>& type) {
  type.def("table_set", GetTableSet, kGuard,
           "Returns which table each tuner in use decides with now, kernel to "
           "digest; an empty\ndigest where there is none.")
      .def(
          "table_set_digest",
          [](const BoundClient& self) {
            return ValueOf(self.client()->TableSetDigest());
          },
          kGuard,
          "Returns the digest of table_set(): the one value that ranks "
          "compare.")
      .def(
          "publish_table_set",
          [](const BoundClient& self) {
            return Ask(
                [client = self.client()] { return client->PublishTableSet(); });
          },
          kGuard,
          "Makes the set that decides now known by its digest, and returns "
          "that.")
      .def(
          "stage_table_set",
          [](const BoundClient& self, const std::string& digest) {
            Ask([&, client = self.client()] {
              return client->StageTableSet(digest);
            });
          },
          "digest"_a, kGuard,
          "Fetches a set by its digest and stages its tables; all or nothing.")
      .def(
          "activate_table_set",
          [](const BoundClient& self, const std::string& digest) {
            Ask([&, client = self.client()] {
              return client->ActivateTableSet(digest);
            });
          },
          "digest"_a, kGuard,
          "Lets the staged tables of a set take over; all or nothing.")
      .def(
          "step_boundary",
          [](const BoundClient& self) { return self.client()->StepBoundary(); },
          kGuard,
          "Calls step_boundary() of every tuner in use; returns how many "
          "tables took over.");
}

}  // namespace

std::shared_ptr<Client> BoundClient::client() const {
  if (client_ == nullptr) {
    ThrowStatus(absl::FailedPreconditionError(
        "the client is closed: connect() makes another one. Its tuners decide "
        "on, with the tables that they have"));
  }
  return client_;
}

void BoundClient::Close() {
  // Half a second at most. Python may end meanwhile in another thread: who has
  // the GIL then keeps it.
  const Inside inside;
  std::shared_ptr<Client> client = std::move(client_);
  if (OthersExit()) {
    client = nullptr;
  } else {
    const GilReleased released;
    client = nullptr;
  }
}

BoundTuner* BoundClient::GetTuner(const std::string& kernel,
                                  const TunerOptions& options) const {
  return new BoundTuner(
      Ask([&, client = client()] { return client->GetTuner(kernel, options); }),
      this);
}

nb::tuple BoundClient::GetArguments(const std::string& kernel) const {
  return ToTuple(
      Ask([&, client = client()] { return client->GetArguments(kernel); }));
}

void AddClientType(nb::module_& module) {
  nb::class_<BoundClient> type(
      module, "Client", nb::is_final(),
      "Fetches tables from the node's daemon; from connect(). May be used from "
      "any thread.");
  type.def(
          "tuner", MakeTuner, "kernel"_a, nb::kw_only(),
          "device"_a = nb::none(), "fingerprint"_a = nb::none(),
          "specialisation"_a = nb::none(), "digest"_a = nb::none(),
          "activation"_a = ActivationPolicy::kAutomatic,
          "prepared"_a = nb::none(), "prepares_on_demand"_a = false,
          "manifest"_a = nb::none(),
          // What keeps a tuner's table up to date belongs to the client.
          nb::keep_alive<0, 1>(), kGuard,
          "Returns the tuner of a kernel: its table from the daemon, else from "
          "the local cache,\nelse from the table file, else the kernel's "
          "defaults.")
      .def("kernels", GetKernels, kGuard,
           "Returns the names of the kernels that tuner() knows: those of the "
           "node's daemon, or where there\nis none, those of the local cache "
           "and the table files.")
      .def("kernel", GetKernel, "kernel"_a, kGuard,
           "Returns what the kernel's manifest says (Kernel), as the node's "
           "daemon has it, or the\nfolder that a table file lies in. kernel: "
           "its name, or its folder.")
      .def("table", FindTable, "kernel"_a, nb::kw_only(),
           "device"_a = nb::none(), "fingerprint"_a = nb::none(),
           "digest"_a = nb::none(), "manifest"_a = nb::none(), kGuard,
           "Returns which table a tuner would begin with, and what is known of "
           "it (Table).")
      .def("add_workload", AddWorkload, "name"_a, "config"_a, nb::kw_only(),
           "tensor_parallel"_a = 1, "expert_parallel"_a = 1,
           "max_tokens"_a = 16384, "routing"_a = "drawn", kGuard,
           "Declares a model that is served, so that profiles measure at its "
           "widths. config: the text\nof its config.json, or what "
           "json.dumps makes that of. routing: as popularity of "
           "ExpectedRouting.")
      .def_prop_ro(
          "mode", [](const BoundClient& self) { return self.client()->mode(); },
          kGuard, "Where decisions come from.")
      .def_prop_ro(
          "watching",
          [](const BoundClient& self) { return self.client()->watching(); },
          kGuard,
          "Whether the client is connected and has heard of everything that "
          "serves.")
      .def_prop_ro("events", Events, kGuard,
                   "What happened to the tables, oldest first; the last 64.")
      .def_prop_ro("last_problem", LastProblem, kGuard,
                   "The last reason for which a table was refused or the watch "
                   "was cut off, or None.")
      .def("close", &BoundClient::Close, kGuard,
           "Ends the connection and reports the use that was not reported yet. "
           "Tuners decide on, with the\ntables that they have; other calls of "
           "the client raise FailedPreconditionError.")
      .def(
          "__enter__",
          [](nb::object self) {
            nb::cast<const BoundClient&>(self)
                .client();  // Not if it is closed.
            return self;
          },
          kGuard)
      .def(
          "__exit__", [](BoundClient& self, const nb::args&) { self.Close(); },
          kGuard)
      .def("__repr__", RepresentClient, kGuard);
  AddTableSets(type);
  module.def("connect", Connect, "endpoint"_a = nb::none(), nb::kw_only(),
             "mode"_a = nb::none(), "cache_dir"_a = nb::none(),
             "table_file"_a = nb::none(), "pin"_a = nb::none(), "timeout_s"_a,
             "watch"_a = true, "usage_feedback"_a = true,
             nb::rv_policy::take_ownership, kGuard,
             "As wavetune.connect, which sets the defaults. cache_dir: "
             "\"auto\", a folder, or None for no cache.");
}

}  // namespace wavetune::python
