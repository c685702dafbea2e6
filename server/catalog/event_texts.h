// EventOf: what parts of the daemon do, as events.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_CATALOG_EVENT_TEXTS_H_
#define WAVETUNE_SERVER_CATALOG_EVENT_TEXTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/decide/compiled_table.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/table_catalog.h"
#include "server/store/event_store.h"
#include "server/store/records.h"
#include "server/store/table_store.h"

namespace wavetune {

// Return the event, without id and time; its text is one line for people.
EventRecord EventOf(const TableChange& change);
EventRecord EventOf(const RejectedTable& table);
EventRecord EventOf(const AgentDirectory::Change& change);
// For a table in a kernel's folder that must not serve.
EventRecord RefusedEvent(const CompiledTable& table, const std::string& file,
                         absl::string_view why);
// For a job that runs now, or has ended.
EventRecord EventOf(const JobRecord& job);
// For the drift probe of a job that has one (JobRecord::drift).
EventRecord DriftProbeEvent(const JobRecord& job);
// A table of the fleet does not hold on a device, as a job found that verified
// it; it serves all the same.
EventRecord SpotCheckEvent(const JobRecord& job);
// A rollout of the fleet was halted, in a class of this node's devices.
EventRecord RolloutHaltedEvent(const ProfileKey& key, const std::string& digest,
                               const std::string& why);
// For a store that cannot be written any more, or can again (OK).
EventRecord StoreEvent(const absl::Status& status);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_EVENT_TEXTS_H_
