// What a user may choose about a client and its tuners.
//
//   ClientOptions options;              // Empty fields: the environment, then
//   options.table_file = "gemm.table";  // the default.
//   auto client = Client::Connect(options);
//
// Where the program leaves a field empty the environment decides:
// WAVETUNE_ENDPOINT, WAVETUNE_MODE, WAVETUNE_TABLE_FILE, WAVETUNE_PIN,
// WAVETUNE_CACHE_DIR (docs/client.md). WAVETUNE_USAGE can turn reports of use
// off, whatever the program says. Client::Connect reads the environment once.
#ifndef WAVETUNE_CLIENT_OPTIONS_H_
#define WAVETUNE_CLIENT_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "wavetune/activation.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Where decisions come from.
enum class ClientMode {
  // The daemon, else the local cache, else the table file, else the kernel's
  // default.
  kAuto,
  // Local files only: the pinned set's, else the cache, else the table file,
  // else the kernel's default. No daemon is asked and nothing changes while the
  // process runs.
  kOffline,
  // The kernel's default, always. The client asks a table or a daemon only for
  // what the default is.
  kOff,
};

struct ClientOptions {
  // The daemon's reader socket: a path, or a gRPC target. After a comma, other
  // daemons of the job, which are asked for tables and table sets by digest
  // only. Empty: WAVETUNE_ENDPOINT, else the default socket.
  std::string endpoint;
  std::string cache_dir =
      "auto";            // "auto": DefaultCacheDir(); empty: no cache.
  double timeout_s = 2;  // For one call to a daemon; above 0, at most 3600.
  // Absent: WAVETUNE_MODE (auto, offline, off), else kAuto.
  std::optional<ClientMode> mode = std::nullopt;
  // A table's payload, or a folder of them (*.table; a cache is one). Empty:
  // WAVETUNE_TABLE_FILE, else none.
  std::string table_file = "";
  // The table set that all tuners keep to: its digest, or the set itself,
  // "kernel=digest,kernel=digest". Empty: WAVETUNE_PIN, else none.
  std::string pin = "";
  // Watches for new tables on a thread of the client's own. Only with kAuto.
  bool watch = true;
  // Counts decisions and reports them to the node's daemon, so that profiles
  // measure these problems (docs/usage.md). Only with kAuto, and unless
  // WAVETUNE_USAGE is "off".
  bool usage_feedback = true;
  double usage_interval_s = 30;  // Between two reports; above 0, at most 86400.
};

struct TunerOptions {
  std::string device;       // UUID; needed only where tables for several device
                            // classes are known.
  std::string fingerprint;  // Hex, or a prefix of at least 8 characters; needed
                            // only where several versions of the kernel serve.
  std::string specialisation;  // Needed where the kernel has more than one.
  std::string digest;  // Pins a table by its identity; `fingerprint` must agree
                       // with it, `device` is not looked at.
  // When a new table takes over. A pinned tuner's is kPinned.
  ActivationPolicy activation = ActivationPolicy::kAutomatic;
  // What the application can launch, as in Tuner::SetPrepared. Only kAutomatic
  // looks at it.
  std::vector<Configuration> prepared = {};
  // The application can launch every configuration (it compiles on demand):
  // with kAutomatic each new table takes over at once.
  bool prepares_on_demand = false;
  // The kernel's folder, or its manifest.textproto: tells what the default is
  // where neither a daemon nor a table does. A table that answers what it does
  // not allow is refused.
  std::string manifest = "";
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_OPTIONS_H_
