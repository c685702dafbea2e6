#include "client/src/table_watcher.h"

#include <utility>

#include "formats/api_version.h"

namespace wavetune {

using Response = v1::WatchTablesResponse;

TableWatcher::TableWatcher(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

TableWatcher::~TableWatcher() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  options_.cancel();
  thread_.join();
}

bool TableWatcher::stopped() {
  std::lock_guard lock(mutex_);
  return stop_;
}

bool TableWatcher::WaitOrStop(Backoff::Duration duration) {
  std::unique_lock lock(mutex_);
  return stop_signal_.wait_for(lock, duration, [this] { return stop_; });
}

void TableWatcher::Run() {
  bool reported = false;
  while (!stopped()) {
    v1::WatchTablesRequest request;
    request.set_store_id(store_id_);
    request.set_from_revision(revision_);
    request.set_api_version(kApiVersion);
    serving_.clear();
    has_snapshot_ = revision_ == 0;
    foreign_ = absl::OkStatus();
    absl::Status ended = options_.watch(
        request, [this](const Response& notice) { return Handle(notice); });
    if (!foreign_.ok()) ended = foreign_;
    const bool was_synced = synced_.exchange(false);
    if (stopped()) return;
    // Once for each cut, not for each attempt.
    if (was_synced || !reported) options_.on_disconnected(ended);
    reported = true;
    if (WaitOrStop(options_.backoff.Next())) return;
  }
}

bool TableWatcher::Handle(const Response& notice) {
  if (stopped()) return false;
  bool dealt_with = true;
  switch (notice.kind()) {
    case Response::RESYNC:
      synced_.store(false);
      serving_.clear();
      has_snapshot_ = true;
      return true;
    case Response::SNAPSHOT:
      // Whatever sends so many is not a daemon of ours: begin anew, later.
      if (serving_.size() >= kMaxServingTables) {
        store_id_.clear();
        revision_ = 0;
        return false;
      }
      serving_.push_back(notice.table());
      return true;
    case Response::SYNCED:
      foreign_ =
          CheckClientApiVersion(notice.api_version(), "daemon", "client");
      if (!foreign_.ok()) return false;
      dealt_with = HandleSynced();
      break;
    case Response::PROMOTED:
      dealt_with = options_.on_promoted(notice.table());
      break;
    case Response::RETIRED:
      options_.on_retired(notice.table());
      break;
    case Response::REMARKED:
      // Of no revision of its own; before SYNCED it ends no catching up.
      if (options_.on_remarked(notice.table())) return true;
      dealt_with = false;
      break;
    default:  // Of a later version: what it means is not known here.
      return true;
  }
  store_id_ = notice.store_id();
  revision_ = notice.revision();
  if (dealt_with) return true;
  // Begin anew, so as to hear of it again.
  store_id_.clear();
  revision_ = 0;
  return false;
}

bool TableWatcher::HandleSynced() {
  if (has_snapshot_ && !options_.on_serving(serving_)) return false;
  options_.backoff.Reset();
  serving_.clear();
  has_snapshot_ = false;
  if (!synced_.exchange(true)) options_.on_connected();
  return true;
}

}  // namespace wavetune
