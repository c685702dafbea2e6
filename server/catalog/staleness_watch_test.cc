#include "server/catalog/staleness_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "server/catalog/catalog_fixture.h"
#include "server/catalog/event_texts.h"
#include "server/jobs/fake_measurement_executor.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StalenessWatchTest : public CatalogFixture {
 protected:
  void SetUp() override {
    SetDriver("580");
    const ProfileKey key{spec_.name, std::string(64, 'a'), SiliconKey(device_),
                         EnvironmentKey(device_)};
    Promote(spec_, key, 10);
    // As the daemon has it logged.
    changes_ = tables_
                   .Subscribe(tables_.snapshot()->revision,
                              [this](const TableChange& change) {
                                log_.push_back(EventOf(change).text);
                              })
                   .handle;
  }

  void SetDriver(const std::string& driver) {
    device_.driver = driver;
    See(device_);
  }

  const KernelSpec spec_ = testing::GemmSpec();
  DeviceFacts device_ = testing::H200();
  FakeKernelCatalog kernels_;
  NodeStaleness staleness_{&devices_, &kernels_};
  std::vector<std::string> log_;
  StalenessWatch watch_{&tables_, &staleness_};
  TableCatalog::Handle changes_;
};

TEST_F(StalenessWatchTest, SaysNothingOfACurrentTable) {
  watch_.Look();
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(StalenessWatchTest, WritesOneLineForEachChange) {
  SetDriver("590");
  watch_.Look();
  watch_.Look();
  ASSERT_THAT(log_, ElementsAre(HasSubstr("driver \"580\", now \"590\"")));
  SetDriver("600");
  watch_.Look();
  SetDriver("580");
  watch_.Look();
  EXPECT_THAT(log_, ElementsAre(HasSubstr("590"), HasSubstr("600"),
                                HasSubstr("is current again")));
}

TEST_F(StalenessWatchTest, TellsWhoWatchesTables) {
  std::vector<std::string> heard;
  const TableCatalog::Watch watch =
      tables_.Subscribe(0, [&heard](const TableChange& change) {
        EXPECT_EQ(change.kind, TableChange::Kind::kRemarked);
        heard.push_back(change.stale_reason);
      });
  SetDriver("590");
  watch_.Look();
  SetDriver("580");
  watch_.Look();
  EXPECT_THAT(heard, ElementsAre(HasSubstr("590"), IsEmpty()));
}

}  // namespace
}  // namespace wavetune
