// What an admin does to the store of a daemon that runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/daemon_fixture.h"
#include "server/store/fake_store_maintenance.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DaemonStoreTest : public DaemonFixture {
 protected:
  void SetUp() override {
    folder_.WriteKernel("copy");
    DaemonStores stores = Stores();
    stores.maintenance = &maintenance_;
    auto daemon = Daemon::Start(stores, Options());
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }

  // It uses what goes before it otherwise.
  void TearDown() override { daemon_ = nullptr; }

  FakeStoreMaintenance maintenance_;
};

TEST_F(DaemonStoreTest, ACheckIsToldAndTheOnlyOne) {
  const auto admin = Stub<v1::AdminService>("admin.sock");
  grpc::ClientContext context;
  const auto check = admin->CheckStore(&context, {});
  v1::StoreProgress progress;
  ASSERT_TRUE(check->Read(&progress));
  EXPECT_THAT(progress.lines(), ElementsAre("begins"));
  EXPECT_FALSE(progress.done());
  grpc::ClientContext other;
  const auto compaction = admin->CompactStore(&other, {});
  EXPECT_FALSE(compaction->Read(&progress));
  const grpc::Status refused = compaction->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("is running"));
  maintenance_.Release();
  while (check->Read(&progress)) {
  }
  EXPECT_TRUE(check->Finish().ok());
  EXPECT_TRUE(progress.done());
  EXPECT_EQ(progress.faults(), 2);
  grpc::ClientContext third;
  const auto backup = admin->BackUpStore(&third, {});
  EXPECT_FALSE(backup->Read(&progress));
  EXPECT_THAT(backup->Finish().error_message(), HasSubstr("--backup-dir"));
}

TEST_F(DaemonStoreTest, WhatRunsEndsWithTheDaemonAndNotWithWhoAsked) {
  const auto admin = Stub<v1::AdminService>("admin.sock");
  v1::StoreProgress progress;
  {
    grpc::ClientContext context;
    const auto check = admin->CheckStore(&context, {});
    ASSERT_TRUE(check->Read(&progress));
    context.TryCancel();
    EXPECT_FALSE(check->Finish().ok());
  }
  grpc::ClientContext other;
  const auto second = admin->CheckStore(&other, {});
  EXPECT_FALSE(second->Read(&progress));
  EXPECT_EQ(second->Finish().error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  // Would wait for ever if the work did.
  daemon_->Stop();
}

}  // namespace
}  // namespace wavetune
