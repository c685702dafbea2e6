// TableNode: the daemon's table service with a RocksDB store, without jobs and
// devices, so that a test or a benchmark promotes what it likes when it likes.
//
//   TableNode node("/tmp/x");              // Listens on node.endpoint().
//   node.Promote(TinyTable());
//
// SeedStore is for a real wavetuned: it makes a store in which tables serve.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_TESTS_LIB_TABLE_NODE_H_
#define WAVETUNE_TESTS_LIB_TABLE_NODE_H_

#include <memory>
#include <string>
#include <vector>

#include "model/table/table.h"

namespace grpc {
class Service;
}

namespace wavetune::testing {

// Makes a store at `path`, or opens it, and promotes the tables. Crashes where
// that fails.
void SeedStore(const std::string& path, const std::vector<Table>& tables);

class TableNode {
 public:
  // `folder` is there and stays; store and socket are made in it. `others`
  // answer on the socket, too, and outlive the node.
  explicit TableNode(const std::string& folder,
                     const std::vector<grpc::Service*>& others = {});
  ~TableNode();

  std::string endpoint() const;

  // Makes a table serve; returns its digest.
  std::string Promote(const Table& table);

  // Watches that are open.
  int watchers() const;

 private:
  struct Parts;

  std::string socket_path() const;

  const std::string folder_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_TABLE_NODE_H_
