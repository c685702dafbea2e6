// wavetune events, against a fake daemon.
#include <signal.h>
#include <unistd.h>

#include <string>

#include "cli/commands/daemon_command_fixture.h"
#include "cli/interrupt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class EventsCommandTest : public DaemonCommandFixture {
 protected:
  static v1::Event Event(uint64_t id, v1::Event::Kind kind,
                         const std::string& text) {
    v1::Event event;
    event.set_id(id);
    event.set_kind(kind);
    event.set_kernel("gemm_f32");
    event.set_text(text);
    return event;
  }
};

TEST_F(EventsCommandTest, ListsOldestFirst) {
  v1::Event stale = Event(2, v1::Event::TABLE_STALE, "the table is STALE");
  stale.set_warning(true);
  *daemon_->events.add_events() = stale;
  v1::Event promoted = Event(1, v1::Event::PROMOTED, "the table serves");
  promoted.set_by("1000");
  *daemon_->events.add_events() = promoted;
  EXPECT_EQ(Run({"events"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("! table-stale  the table is STALE"),
                    HasSubstr("promoted  the table serves [user 1000]")));
  EXPECT_LT(out_.str().find("promoted"), out_.str().find("table-stale"));
  EXPECT_EQ(daemon_->events_request.limit(), 50);
}

TEST_F(EventsCommandTest, AsksForWhatIsWanted) {
  EXPECT_EQ(Run({"events", "--kind", "driver-changed", "--kernel", "gemm_f32",
                 "--device", "GPU-1", "--since", "2h", "--limit", "7"}),
            kExitOk);
  EXPECT_EQ(daemon_->events_request.kind(), v1::Event::DRIVER_CHANGED);
  EXPECT_EQ(daemon_->events_request.kernel(), "gemm_f32");
  EXPECT_EQ(daemon_->events_request.device_uuid(), "GPU-1");
  EXPECT_EQ(daemon_->events_request.limit(), 7);
  EXPECT_GT(daemon_->events_request.since_us(), 0);
  EXPECT_THAT(out_.str(), HasSubstr("no events"));
}

TEST_F(EventsCommandTest, FollowsFromWhereTheListEnds) {
  *daemon_->events.add_events() = Event(5, v1::Event::PROMOTED, "listed");
  daemon_->new_events.emplace_back();  // All that was missed has been told.
  *daemon_->new_events.emplace_back().mutable_event() =
      Event(6, v1::Event::PROMOTED, "then");
  *daemon_->new_events.emplace_back().mutable_event() =
      Event(7, v1::Event::WITHDRAWN, "not asked for");
  EXPECT_EQ(Run({"events", "--follow", "--kind", "promoted"}), kExitOk);
  EXPECT_EQ(daemon_->watch_events_request.after_id(), 5u);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("listed"), HasSubstr("then"),
                                Not(HasSubstr("not asked for"))));
}

TEST_F(EventsCommandTest, FollowsFromTheNewestEventWhereNoneIsListed) {
  // The fake lists the same to whoever asks.
  *daemon_->events.add_events() = Event(9, v1::Event::PROMOTED, "other");
  EXPECT_EQ(Run({"events", "--follow"}), kExitOk);
  EXPECT_EQ(daemon_->watch_events_request.after_id(), 9u);
  daemon_->events.clear_events();
  EXPECT_EQ(Run({"events", "--follow"}), kExitOk);
  // Not 0, which leaves out what came before the stream began.
  EXPECT_EQ(daemon_->watch_events_request.after_id(), 1u);
}

TEST_F(EventsCommandTest, CtrlCEndsFollowingAsShellsHaveItAndSaysNothing) {
  daemon_->watch_end = absl::CancelledError("cancelled");
  EXPECT_EXIT(
      {
        CatchInterrupts();
        raise(SIGINT);
        const int code = Run({"events", "--follow"});
        _exit(err_.str().empty() ? code : 1);
      },
      ::testing::ExitedWithCode(130), "");
}

TEST_F(EventsCommandTest, JsonIsAnObjectALine) {
  *daemon_->events.add_events() = Event(5, v1::Event::PROMOTED, "listed");
  EXPECT_EQ(Run({"events", "--json"}), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"kind\":\"PROMOTED\""),
                                HasSubstr("\"id\":5"), HasSubstr("}\n")));
}

TEST_F(EventsCommandTest, RefusesWhatIsNoKindOrAge) {
  EXPECT_EQ(Run({"events", "--kind", "nonsense"}), kExitUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("nonsense"),
                                HasSubstr("driver-changed, table-stale")));
  for (const std::string age : {"2", "h", "-1h", "2w", "9999999d"}) {
    EXPECT_EQ(Run({"events", "--since", age}), kExitUsage) << age;
  }
}

}  // namespace
}  // namespace wavetune::cli
