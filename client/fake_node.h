// FakeNode: TableService and StatusService in this process, on a unix socket in
// a folder of its own, with tables and kernels that a test puts there.
#ifndef WAVETUNE_CLIENT_FAKE_NODE_H_
#define WAVETUNE_CLIENT_FAKE_NODE_H_

#include <memory>
#include <string>

#include "client/table_cache.h"
#include "model/device.h"
#include "model/table.h"
#include "proto/wavetune/v1/status_service.pb.h"

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
  // Nobody answers any more.
  void Stop();
  // Calls of GetTable so far.
  int fetches() const;

 private:
  struct Services;
  TemporaryFolder folder_;
  std::unique_ptr<Services> services_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_CLIENT_FAKE_NODE_H_
