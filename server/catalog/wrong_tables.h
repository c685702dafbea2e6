// Tables that choose candidates shown to compute wrong results.
//
// A profiling job withdraws its table the moment it finds out
// (profiling_job.h). These functions find those of a store that an earlier
// daemon, a crash or a full disk has left.
//
// Thread safety: pure functions over thread-safe objects.
#ifndef WAVETUNE_SERVER_CATALOG_WRONG_TABLES_H_
#define WAVETUNE_SERVER_CATALOG_WRONG_TABLES_H_

#include <functional>
#include <string>

#include "model/table/table.h"
#include "server/catalog/table_catalog.h"
#include "server/store/sample_store.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Returns whether the table may choose the configuration. Cannot fail.
bool Chooses(const Table& table, const std::string& specialisation,
             const Configuration& configuration);

// Returns why a table must not serve for `key`: it chooses what the newest
// generation of samples shows wrong. Nothing where nothing speaks against it.
// Errors: the store's.
absl::StatusOr<std::optional<std::string>> WhyWrong(SampleStore& samples,
                                                    const ProfileKey& key,
                                                    const Table& table);

// Errors: FAILED_PRECONDITION with the reason where an operator must not have a
// table serve again; the store's.
absl::Status CheckMayServeAgain(SampleStore& samples, const TableRecord& record,
                                const Table& table);

// Withdraws every serving table that chooses what the newest profile of its key
// has excluded as wrong; `warn` hears of each, and of profiles that cannot be
// read. To be called when a daemon starts. Cost: reads the candidates of every
// serving table's profile.
void WithdrawWrongTables(SampleStore& samples, TableCatalog& tables,
                         int64_t now_us,
                         const std::function<void(const std::string&)>& warn);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_WRONG_TABLES_H_
