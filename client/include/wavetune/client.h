// Client: fetches tables from the node's daemon, once, and hands out tuners
// that decide locally.
//
//   auto client = wavetune::Client::Connect({}).value();
//   wavetune::Tuner gemm = client->GetTuner("gemm_f32").value();
//   wavetune::Decision d = gemm.Resolve({m, n, k});  // nanoseconds
//
// Works without the daemon: from the local cache, from a table file, or with
// the kernel's defaults (docs/client.md). Resolve does no RPC and takes no
// lock. While a client lives, a thread of its own hears of new tables, fetches
// and verifies them and stages them at the tuners (wavetune/activation.h).
//
// Ranks of one job compare one digest, and share one set of tables
// (docs/rank-agreement.md):
//
//   std::string digest = client->PublishTableSet().value();  // rank 0
//   client->StageTableSet(digest);                           // other ranks
//   client->ActivateTableSet(digest);                        // all, at a step
//
// Forks: tuners and clients may be used in a forked process. There they decide
// with the tables that they have, ask the daemon on connections of their own,
// and hear of no new tables. A client that connects in the forked process works
// as any other.
//
// Thread safety: all methods may be called from any thread.
#ifndef WAVETUNE_CLIENT_H_
#define WAVETUNE_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "wavetune/client_event.h"
#include "wavetune/client_options.h"
#include "wavetune/kernel_argument.h"
#include "wavetune/table_set.h"
#include "wavetune/tuner.h"
#include "wavetune/workload.h"

namespace wavetune {

struct KernelSpec;
struct OfferedTable;

class Client {
 public:
  // Never fails for a daemon that is down, hangs or is slow. Errors:
  // INVALID_ARGUMENT for an endpoint, timeout, mode, table file or pin that
  // makes no sense; names the option or environment variable, and the legal
  // values. NOT_FOUND for a pinned set's digest that nobody knows.
  // Cost: no RPC, but for a set pinned by its digest that is not cached.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(
      const ClientOptions& options);
  // Ends the watch and reports the use that was not reported yet. Takes half a
  // second at most, whatever the daemon does. Tuners live on. In a forked
  // process the parent's client and its memory are left as they are.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Returns a tuner for a kernel, as ClientMode says. Its table is from the
  // daemon (and is cached then), else from the cache, else from the table file;
  // without a table the tuner answers the kernel's default. The tables of a
  // pinned set come from wherever their digest is found.
  //
  // Errors: FAILED_PRECONDITION when the choice is ambiguous (lists the
  //         choices), the pinned set has no table of the kernel, or without
  //         a table the node's devices differ in their default.
  //         NOT_FOUND for an unknown kernel, device or specialisation (lists
  //         the known ones). UNAVAILABLE when the daemon is down and nothing
  //         local knows the kernel (names the sources tried). DATA_LOSS for a
  //         damaged table.
  // Cost:   up to three RPCs.
  absl::StatusOr<Tuner> GetTuner(const std::string& kernel,
                                 const TunerOptions& options = {});

  // Returns the names of the kernels that GetTuner knows, sorted: the valid
  // ones of the node's daemon. Where no daemon can be asked, it returns those
  // of the local cache and the table files. Errors: UNAVAILABLE where the
  // daemon cannot be reached and nothing local has a table. Cost: an RPC.
  absl::StatusOr<std::vector<std::string>> GetKernels() const;

  // Returns the arguments that a kernel is launched with where it is measured,
  // in order. They are in the manifest that the node's daemon has, or else in
  // the folder of a table file, KERNEL/tables/. `kernel` may also be the
  // kernel's folder. Code that launches another function with the kernel's
  // decisions compares its arguments with these.
  // Errors: NOT_FOUND where nobody says; UNAVAILABLE; INVALID_ARGUMENT for a
  // manifest that is not valid. Cost: an RPC.
  absl::StatusOr<std::vector<KernelArgument>> GetArguments(
      const std::string& kernel) const;

  // For code built from this tree. The manifest that GetArguments reads
  // (model/kernel/kernel_spec.h). The table that a tuner with these options
  // would begin with, and its server's word on its standing
  // (client/src/table_slot.h). Errors: as GetArguments; as GetTuner, but
  // NOT_FOUND or UNAVAILABLE where there is no table, FAILED_PRECONDITION for
  // one that was withdrawn, DATA_LOSS for one that the manifest does not allow.
  absl::StatusOr<std::shared_ptr<const KernelSpec>> GetSpec(
      const std::string& kernel) const;
  absl::StatusOr<std::shared_ptr<const OfferedTable>> FindTable(
      const std::string& kernel, const TunerOptions& options) const;

  // Calls StepBoundary of every tuner of this client that is still in use.
  // Returns how many tables took over. No RPC.
  int StepBoundary();

  // Returns which table each tuner in use decides with now; an empty digest
  // where it decides without one. Errors: FAILED_PRECONDITION where two tuners
  // of one kernel decide with different tables. No RPC.
  absl::StatusOr<TableSet> GetTableSet() const;

  // Returns the digest of GetTableSet: the one value that ranks compare.
  // Errors: as there.
  absl::StatusOr<std::string> TableSetDigest() const;

  // Publishes the set that decides now to the local cache and the daemons, and
  // returns its digest. Tables are not published: a daemon answers with those
  // that it has. Errors: as GetTableSet; FAILED_PRECONDITION where a tuner has
  // no table; UNAVAILABLE where neither the cache nor a daemon took the set.
  // Cost: an RPC for each daemon.
  absl::StatusOr<std::string> PublishTableSet();

  // Fetches a set by its digest, and its tables, from the cache or any of the
  // daemons. Stages all of them at the tuners in use but pinned ones, or none.
  // Errors: NOT_FOUND where nobody knows the set or a table (says who was
  // asked). FAILED_PRECONDITION where a tuner refuses its table (other silicon,
  // fingerprint or environment), is pinned to another one, or its kernel is not
  // in the set. Cost: RPCs.
  absl::Status StageTableSet(absl::string_view digest);

  // Lets the staged tables of the set take over, all or none. Errors:
  // FAILED_PRECONDITION where a tuner neither has its table staged nor decides
  // with it. No RPC.
  absl::Status ActivateTableSet(absl::string_view digest);

  // Declares a model that this process serves to all of the client's daemons.
  // Its layers' problems are representative ones of every kernel that serves
  // such layers, from the next profile on. `config` is the text of the model's
  // config.json, as Hugging Face has it. The same again changes nothing: an
  // engine may declare its model whenever it starts.
  //
  // Errors, where no daemon took it (of the first): INVALID_ARGUMENT for a name
  //         that is not 1 to 64 letters, digits, '.', '_' and '-', a
  //         config.json that is cut off or lacks fields, numbers that do not
  //         divide. PERMISSION_DENIED where another user's has the name.
  //         RESOURCE_EXHAUSTED beyond a bound. FAILED_PRECONDITION for a client
  //         without a daemon, or a daemon that is older; UNAVAILABLE.
  // Cost:   an RPC for each daemon, which waits for its disk.
  absl::StatusOr<DeclaredWorkload> AddWorkload(
      absl::string_view name, absl::string_view config,
      const WorkloadOptions& options = {});

  ClientMode mode() const;
  // Returns the daemons that it may ask, as gRPC targets, the node's first.
  const std::vector<std::string>& endpoints() const;
  // Returns whether the watch is connected and knows all tables that serve.
  bool watching() const;
  // Returns the last 64 events of the tables, oldest first.
  std::vector<ClientEvent> events() const;
  // Returns the last reason why a table was refused, was stale or could not be
  // cached, or why the watch was cut off; OK where there was none.
  absl::Status last_problem() const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_H_
