// ShippedTables: tables that lie beside their kernels serve from the first
// minute on.
//
// Each Look offers what kernels ship (formats/shipped_files.h) for the silicon
// of this node's devices, where nothing else serves there. It serves as stale
// until something here has measured it; TableCatalog::Ship says when it does
// not.
//
// Thread safety: one Look at a time.
#ifndef WAVETUNE_SERVER_CATALOG_SHIPPED_TABLES_H_
#define WAVETUNE_SERVER_CATALOG_SHIPPED_TABLES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/shipped_files.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/disk_kernel_catalog.h"
#include "server/catalog/table_admission.h"
#include "server/catalog/table_catalog.h"
#include "server/store/event_store.h"

namespace wavetune {

class ShippedTables {
 public:
  // Pointers outlive the object. `warn` hears once of what is wrong with a
  // file.
  struct Options {
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    DiskKernelCatalog* kernels = nullptr;
    const TableAdmission* admission = nullptr;
    std::function<void(const std::string&)> warn = [](const std::string&) {};
    // Hears once of a table that samples here show wrong.
    std::function<void(const EventRecord&)> refused = [](const EventRecord&) {};
  };

  explicit ShippedTables(Options options) : options_(std::move(options)) {}

  // Cannot fail. Cost: nothing where neither kernels nor devices nor what
  // serves have changed; reads the kernels' tables where kernels have.
  void Look();

 private:
  // Reads what kernels ship, where that may have changed.
  void Read();
  // Offers the tables [first, last) of tables_, which are of one kernel and
  // silicon. Returns whether that is settled until something changes.
  bool Offer(const ShippedTable* first, const ShippedTable* last);
  // Whether nobody was told this yet.
  bool IsNew(const std::string& text);
  void WarnOnce(const std::string& text);

  const Options options_;
  std::optional<uint64_t> kernels_read_;  // DiskKernelCatalog::Revision.
  std::vector<ShippedTable> tables_;      // By kernel, then silicon, then file.
  // What the last Look saw; nullptr: it has something left to do.
  std::shared_ptr<const TableSnapshot> seen_;
  uint64_t devices_seen_ = 0;
  std::set<std::string> told_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_SHIPPED_TABLES_H_
