#include "client/src/table_watcher.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using Response = v1::WatchTablesResponse;
using ::testing::ElementsAre;

Response Notice(Response::Kind kind, uint64_t revision,
                const std::string& digest = "") {
  Response notice;
  notice.set_kind(kind);
  notice.set_store_id("store");
  notice.set_revision(revision);
  notice.mutable_table()->set_digest(digest);
  return notice;
}

// Plays one list of notices for each watch; the last one stays open.
class Script {
 public:
  explicit Script(std::deque<std::vector<Response>> streams)
      : streams_(std::move(streams)) {}

  TableWatcher::Options Options() {
    return {.watch =
                [this](const v1::WatchTablesRequest& request,
                       const TableWatcher::OnNotice& on_notice) {
                  return Watch(request, on_notice);
                },
            .cancel =
                [this] {
                  std::lock_guard lock(mutex_);
                  cancelled_ = true;
                  changed_.notify_all();
                },
            .on_serving =
                [this](const std::vector<v1::TableInfo>& serving) {
                  std::string line = "serving";
                  for (const auto& table : serving)
                    line += " " + table.digest();
                  return Say(line);
                },
            .on_promoted =
                [this](const v1::TableInfo& table) {
                  return Say("promoted " + table.digest());
                },
            .on_retired =
                [this](const v1::TableInfo& table) {
                  Say("retired " + table.digest());
                },
            .on_connected = [this] { Say("connected"); },
            .on_disconnected =
                [this](const absl::Status& why) {
                  Say("disconnected " + std::string(why.message()));
                },
            .backoff = Backoff(std::chrono::milliseconds(0),
                               std::chrono::milliseconds(0), 0)};
  }

  // What was said, up to the moment at which nothing more will be.
  std::vector<std::string> Play() {
    TableWatcher watcher(Options());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return idle_; });
    return said_;
  }

  // The next time this is said, it cannot be dealt with.
  void FailOnce(const std::string& line) { failing_ = line; }
  // "store@revision" of each request.
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  absl::Status Watch(const v1::WatchTablesRequest& request,
                     const TableWatcher::OnNotice& on_notice) {
    std::unique_lock lock(mutex_);
    requests_.push_back(request.store_id() + "@" +
                        std::to_string(request.from_revision()));
    const std::vector<Response> notices = streams_.front();
    streams_.pop_front();
    const bool last = streams_.empty();
    lock.unlock();
    for (const Response& notice : notices) {
      if (!on_notice(notice)) return absl::CancelledError("not dealt with");
    }
    lock.lock();
    if (!last) return absl::UnavailableError("cut");
    idle_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return cancelled_; });
    return absl::CancelledError("cancelled");
  }
  bool Say(const std::string& line) {
    std::lock_guard lock(mutex_);
    said_.push_back(line);
    if (line != failing_) return true;
    failing_.clear();
    return false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<Response>> streams_;
  std::vector<std::string> said_;
  std::vector<std::string> requests_;
  std::string failing_;
  bool idle_ = false;
  bool cancelled_ = false;
};

TEST(TableWatcherTest, TellsWhatServesThenEveryChange) {
  Script script(
      {{Notice(Response::SNAPSHOT, 5, "a"), Notice(Response::SNAPSHOT, 5, "b"),
        Notice(Response::SYNCED, 5), Notice(Response::PROMOTED, 6, "c"),
        Notice(Response::RETIRED, 7, "a")}});
  EXPECT_THAT(script.Play(), ElementsAre("serving a b", "connected",
                                         "promoted c", "retired a"));
  EXPECT_THAT(script.requests(), ElementsAre("@0"));
}

TEST(TableWatcherTest, GoesOnAfterACutWhereItStopped) {
  Script script(
      {{Notice(Response::SYNCED, 5), Notice(Response::PROMOTED, 6, "c")},
       {},
       {Notice(Response::PROMOTED, 7, "d"), Notice(Response::SYNCED, 7)}});
  EXPECT_THAT(script.Play(),
              ElementsAre("serving", "connected", "promoted c",
                          "disconnected cut", "promoted d", "connected"));
  EXPECT_THAT(script.requests(), ElementsAre("@0", "store@6", "store@6"));
}

TEST(TableWatcherTest, ACutSnapshotIsAskedForAgain) {
  Script script(
      {{Notice(Response::SNAPSHOT, 5, "a")},
       {Notice(Response::SNAPSHOT, 5, "a"), Notice(Response::SYNCED, 5)}});
  EXPECT_THAT(script.Play(),
              ElementsAre("disconnected cut", "serving a", "connected"));
  EXPECT_THAT(script.requests(), ElementsAre("@0", "@0"));
}

TEST(TableWatcherTest, AResyncForgetsWhatWasHeard) {
  Script script(
      {{Notice(Response::SYNCED, 5)},
       {Notice(Response::RESYNC, 2), Notice(Response::SNAPSHOT, 2, "x"),
        Notice(Response::SYNCED, 2)},
       {Notice(Response::SYNCED, 2)}});
  EXPECT_THAT(
      script.Play(),
      ElementsAre("serving", "connected", "disconnected cut", "serving x",
                  "connected", "disconnected cut", "connected"));
  EXPECT_THAT(script.requests(), ElementsAre("@0", "store@5", "store@2"));
}

TEST(TableWatcherTest, WhatCouldNotBeDealtWithIsHeardAgain) {
  Script script(
      {{Notice(Response::SYNCED, 5), Notice(Response::PROMOTED, 6, "c"),
        Notice(Response::PROMOTED, 7, "d")},
       {Notice(Response::SNAPSHOT, 7, "d"), Notice(Response::SYNCED, 7)}});
  script.FailOnce("promoted c");
  EXPECT_THAT(script.Play(), ElementsAre("serving", "connected", "promoted c",
                                         "disconnected not dealt with",
                                         "serving d", "connected"));
  EXPECT_THAT(script.requests(), ElementsAre("@0", "@0"));
}

TEST(TableWatcherTest, ADaemonOfAnotherMajorIsNotListenedTo) {
  Response foreign = Notice(Response::SYNCED, 3);
  foreign.set_api_version(2000);
  Response older = Notice(Response::SYNCED, 3);  // Says no version.
  Script script({{Notice(Response::SNAPSHOT, 3, "a"), foreign}, {older}});
  EXPECT_THAT(
      script.Play(),
      ElementsAre("disconnected the daemon speaks API 2.0, the client API "
                  "1.0: upgrade the client (majors must be equal)",
                  "serving", "connected"));
}

TEST(TableWatcherTest, NoticesOfALaterVersionAreSkipped) {
  Script script({{Notice(static_cast<Response::Kind>(99), 5),
                  Notice(Response::SYNCED, 5)}});
  EXPECT_THAT(script.Play(), ElementsAre("serving", "connected"));
}

}  // namespace
}  // namespace wavetune
