// Client: fetches tables from the node's daemon, once, and hands out tuners
// that decide locally.
//
//   auto client = wavetune::Client::Connect({}).value();
//   wavetune::Tuner gemm = client->GetTuner("gemm_f32").value();
//   wavetune::Decision d = gemm.Resolve({m, n, k});  // nanoseconds
//
// GetTuner falls back to the local table cache while the daemon is down;
// Resolve does no RPC and takes no lock.
//
// Thread safety: all methods may be called from any thread.
#ifndef WAVETUNE_CLIENT_CLIENT_H_
#define WAVETUNE_CLIENT_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/table_cache.h"
#include "client/tuner.h"
#include "client/usage/usage_reporter.h"
#include "model/device.h"

namespace wavetune {

struct ClientOptions {
  std::string endpoint;  // Empty: WAVETUNE_ENDPOINT, else the default socket.
  std::string cache_dir =
      "auto";            // "auto": DefaultCacheDir(); empty: no cache.
  double timeout_s = 2;  // Of one call to the daemon.
  // Counts decisions and reports them to the daemon, so that profiles measure
  // what is used (docs/usage.md). WAVETUNE_USAGE=off turns it off, too.
  bool usage_feedback = true;
  double usage_interval_s = 30;  // Between two reports.
};

struct TunerOptions {
  std::string device;       // UUID; needed only where tables for several device
                            // classes are known.
  std::string fingerprint;  // Hex, or a prefix of at least 8 characters; needed
                            // only where several versions of the kernel serve.
  std::string specialisation;  // Needed where the kernel has more than one.
  std::string digest;  // Pins a table by its identity; `fingerprint` must agree
                       // with it, `device` is not looked at.
};

class Client {
 public:
  // Never fails for a daemon that is down: GetTuner then uses the cache.
  // Errors: INVALID_ARGUMENT for an endpoint or timeout that makes no sense.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(
      const ClientOptions& options);
  ~Client();

  // Returns a tuner for a kernel: from the daemon, else from the cache (a
  // fetched table is cached), else, where the daemon knows the kernel but has
  // no table, one that answers the kernel's default on the device. Errors:
  // FAILED_PRECONDITION when the choice is ambiguous (lists the choices; also
  // when there is no table and the node's devices differ in their default);
  // NOT_FOUND for an unknown kernel, device or specialisation (lists what is
  // known); UNAVAILABLE when the daemon is down and nothing is cached (says
  // both); DATA_LOSS for a damaged table. Cost: up to three RPCs.
  absl::StatusOr<Tuner> GetTuner(const std::string& kernel,
                                 const TunerOptions& options = {});

 private:
  struct Rpc;
  Client(ClientOptions options, std::unique_ptr<Rpc> rpc);

  absl::StatusOr<FetchedTable> FetchFromDaemon(const std::string& kernel,
                                               const TunerOptions& options);
  absl::StatusOr<FetchedTable> FindInCache(const std::string& kernel,
                                           const TunerOptions& options) const;
  // Returns the devices whose defaults count: the one of that UUID, or without
  // a UUID the attached ones, or else all that the daemon has seen. Errors:
  // NOT_FOUND for a UUID that the daemon does not know: a device without a
  // table is answered with defaults, a misspelt one not.
  absl::StatusOr<std::vector<DeviceFacts>> FetchDevices(
      const std::string& uuid);
  absl::StatusOr<Tuner> DefaultsFromDaemon(const std::string& kernel,
                                           const TunerOptions& options);
  absl::StatusOr<Tuner> MakeTuner(const FetchedTable& fetched,
                                  const TunerOptions& options,
                                  TableOrigin origin) const;
  // Returns what counts the decisions of a tuner; nullptr where nothing does.
  std::shared_ptr<UsageRecorder> RecorderFor(const Tuner::State& state,
                                             const TunerOptions& options) const;

  ClientOptions options_;
  TableCache cache_;
  std::unique_ptr<Rpc> rpc_;
  std::unique_ptr<UsageReporter> usage_;  // nullptr: off.
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_CLIENT_H_
