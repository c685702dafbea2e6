// FakeNode: TableService and StatusService in this process, on a unix socket in
// a folder of its own, with tables and kernels that a test puts there. It dies,
// hangs and comes back on request.
#ifndef WAVETUNE_CLIENT_SRC_FAKE_NODE_H_
#define WAVETUNE_CLIENT_SRC_FAKE_NODE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/src/table_cache.h"
#include "model/kernel/device.h"
#include "model/table/table.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "proto/wavetune/v1/workload_service.pb.h"

namespace wavetune::testing {

// A folder that ends with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Encodes a table as a daemon would serve it.
FetchedTable Serve(const Table& table, const std::string& device_uuid = "GPU-1",
                   int64_t promoted_at_us = 1);

// The kernel of TinyTable as a daemon lists it, without a table; its default is
// BLOCK = 128.
v1::KernelStatus AddKernelStatus();

class FakeNode {
 public:
  FakeNode();
  ~FakeNode();

  // "unix:<folder>/reader.sock".
  std::string endpoint() const;
  // A folder for the client's cache; lives as long as the node.
  std::string cache_dir() const { return folder_.path() + "/cache"; }

  void AddTable(FetchedTable table);
  void AddKernel(const v1::KernelStatus& kernel);
  void AddDevice(const std::string& uuid);
  void AddDevice(const DeviceFacts& facts);
  // GetTable answers this payload instead of the right one.
  void Damage(const std::string& payload);
  // The payload comes as it is, whatever the info says. Serves a table in place
  // of the one of its kernel, fingerprint and class, and tells the watchers.
  void Promote(FetchedTable table);
  // Serves a table no longer, and tells the watchers.
  void Retire(const std::string& digest);
  // Serves a table no longer, as it was shown wrong, and tells the watchers,
  // now and later.
  void Withdraw(const std::string& digest, const std::string& why);
  // Says of a table that serves that it is stale, or current again where
  // `stale_reason` is empty, and tells the watchers.
  void Remark(const std::string& digest, const std::string& stale_reason);
  // Ends every watch.
  void CutWatches();
  // Tells every watcher to forget everything, and what serves now.
  void Resync();
  // Calls answer only once it is let go on; streams stay open.
  void Hang();
  void GoOn();
  // Nobody answers any more.
  void Stop();
  // Answers again, on the same socket; with what served, and a store id of its
  // own where `new_store`.
  void Start(bool new_store = false);
  // Calls of GetTable so far.
  int fetches() const;
  // Decisions that clients have reported.
  double reported_decisions() const;
  // Workloads that clients have declared; from now on they are refused.
  std::vector<v1::AddWorkloadRequest> workload_requests() const;
  void RefuseWorkloads(const absl::Status& why);
  // Watches that are open, and the requests of all that ever were.
  int watchers() const;
  std::vector<v1::WatchTablesRequest> watch_requests() const;

 private:
  struct Services;
  TemporaryFolder folder_;
  std::unique_ptr<Services> services_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_CLIENT_SRC_FAKE_NODE_H_
