// A daemon profiles, serves its tables and answers from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "server/daemon_fixture.h"
#include "server/rpc/sample_handler.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DaemonTablesTest : public DaemonFixture {};

TEST_F(DaemonTablesTest, ProfilesWithAnAgentAndServesTheTable) {
  const auto agent = Attach("CPU-1");
  const v1::JobInfo job = Reprofile();
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.message();
  EXPECT_EQ(job.samples(), agent->measured());

  const auto tables = Stub<v1::TableService>("reader.sock");
  v1::GetTableRequest get;
  get.set_kernel("copy");
  v1::GetTableResponse table;
  ASSERT_TRUE(
      Call(&v1::TableService::Stub::GetTable, tables, get, &table).ok());
  EXPECT_EQ(table.info().digest(), job.digest());
  v1::ListTablesResponse list;
  ASSERT_TRUE(Call(&v1::TableService::Stub::ListTables, tables,
                   v1::ListTablesRequest(), &list)
                  .ok());
  EXPECT_EQ(list.tables_size(), 1);

  const auto decisions = Stub<v1::DecisionService>("reader.sock");
  v1::ResolveResponse resolved;
  ASSERT_TRUE(Call(&v1::DecisionService::Stub::Resolve, decisions,
                   Problem(100, 100), &resolved)
                  .ok());
  ASSERT_EQ(resolved.decisions_size(), 1);
  EXPECT_EQ(resolved.digest(), job.digest());
  EXPECT_EQ(resolved.decisions(0).configuration(0).value(), 32);
  v1::ExplainRequest explain;
  explain.set_kernel("copy");
  *explain.mutable_problem() = Problem(100, 100).problems(0);
  v1::ExplainResponse explained;
  ASSERT_TRUE(
      Call(&v1::DecisionService::Stub::Explain, decisions, explain, &explained)
          .ok());
  EXPECT_GE(explained.rows_size(), 1);

  const auto status = Stub<v1::StatusService>("reader.sock");
  v1::GetStatusResponse all;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::GetStatus, status,
                   v1::GetStatusRequest(), &all)
                  .ok());
  EXPECT_EQ(all.version(), "1.2.3");
  EXPECT_EQ(all.devices_attached(), 1);
  EXPECT_EQ(all.kernels(), 1);
  EXPECT_EQ(all.tables(), 1);
  EXPECT_EQ(all.samples(), agent->measured());
  EXPECT_GT(all.resident_bytes(), 0);
  v1::ListDevicesResponse devices;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListDevices, status,
                   v1::ListDevicesRequest(), &devices)
                  .ok());
  ASSERT_EQ(devices.devices_size(), 1);
  EXPECT_TRUE(devices.devices(0).attached());
  v1::ListKernelsResponse kernels;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListKernels, status,
                   v1::ListKernelsRequest(), &kernels)
                  .ok());
  ASSERT_EQ(kernels.kernels_size(), 1);
  EXPECT_EQ(kernels.kernels(0).configurations(), 4);
  EXPECT_EQ(kernels.kernels(0).tables_size(), 1);
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListJobs, status,
                   v1::ListJobsRequest(), &jobs)
                  .ok());
  EXPECT_EQ(jobs.jobs_size(), 1);
  v1::GetJobRequest unknown;
  unknown.set_id(77);
  v1::GetJobResponse none;
  EXPECT_EQ(Call(&v1::StatusService::Stub::GetJob, status, unknown, &none)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTablesTest,
       WhatAnEarlierDaemonTookAlthoughItIsIllegalDoesNotServe) {
  const auto serving = [this]() -> std::string {
    v1::GetTableRequest request;
    request.set_kernel("copy");
    v1::GetTableResponse table;
    const bool found =
        Call(&v1::TableService::Stub::GetTable,
             Stub<v1::TableService>("reader.sock"), request, &table)
            .ok();
    return found ? table.info().digest() : "";
  };
  auto agent = Attach("CPU-1");
  ASSERT_EQ(Reprofile().state(), v1::SUCCEEDED);
  const std::string legal = serving();
  agent = nullptr;
  daemon_ = nullptr;
  const StoredPayload stored = tables_.Get(legal).value();
  Table table = DecodeTable(stored.payload).value();
  // No configuration of the manifest.
  for (SubTable& sub : table.sub_tables)
    sub.portfolio.front().configuration = Configuration({32, 999});
  const std::string payload = EncodeTable(table).value();
  TableRecord record = stored.record;
  record.digest.clear();
  const std::string illegal = tables_.Promote(record, payload)->digest;
  StartDaemon();
  EXPECT_EQ(serving(), legal) << "what served before serves again";
  v1::ListEventsResponse events;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListEvents,
                   Stub<v1::StatusService>("reader.sock"),
                   v1::ListEventsRequest(), &events)
                  .ok());
  const auto told = std::find_if(
      events.events().begin(), events.events().end(),
      [](const v1::Event& e) { return e.kind() == v1::Event::RETIRED; });
  ASSERT_NE(told, events.events().end());
  EXPECT_TRUE(told->warning());
  EXPECT_EQ(told->digest(), illegal);
  EXPECT_THAT(told->text(), AllOf(HasSubstr("999"),
                                  HasSubstr("wavetune reprofile --kernel")));
  // Where nothing served before, the default decides.
  daemon_ = nullptr;
  FakeTableStore tables;
  ASSERT_TRUE(tables.Promote(record, payload).ok());
  DaemonStores stores = Stores();
  stores.tables = &tables;
  const auto daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  EXPECT_EQ(serving(), "");
  v1::ListTablesResponse list;
  ASSERT_TRUE(Call(&v1::TableService::Stub::ListTables,
                   Stub<v1::TableService>("reader.sock"),
                   v1::ListTablesRequest(), &list)
                  .ok());
  ASSERT_EQ(list.left_out_size(), 1);
  EXPECT_THAT(list.left_out(0), HasSubstr("left out"));
}

TEST_F(DaemonTablesTest,
       WhatTheManifestNoLongerAllowsServesNoLongerAfterAReload) {
  const auto agent = Attach("CPU-1");
  ASSERT_EQ(Reprofile().state(), v1::SUCCEEDED);
  const auto list = [this] {
    v1::ListTablesResponse tables;
    EXPECT_TRUE(Call(&v1::TableService::Stub::ListTables,
                     Stub<v1::TableService>("reader.sock"),
                     v1::ListTablesRequest(), &tables)
                    .ok());
    return tables;
  };
  daemon_->Reload();
  EXPECT_EQ(list().tables_size(), 1);
  const std::string manifest = "kernels/copy/manifest.textproto";
  std::stringstream text;
  text << std::ifstream(folder_ / manifest).rdbuf();
  folder_.Write(manifest,
                absl::StrReplaceAll(text.str(), {{"[16, 32]", "[8, 16]"},
                                                 {"\"BLOCK\" value: 32",
                                                  "\"BLOCK\" value: 16"}}));
  daemon_->Reload();
  const v1::ListTablesResponse tables = list();
  EXPECT_EQ(tables.tables_size(), 0);
  ASSERT_EQ(tables.left_out_size(), 1);
  EXPECT_THAT(tables.left_out(0), HasSubstr("BLOCK=32"));
}

TEST_F(DaemonTablesTest, ATableBesideItsKernelServesFromTheFirstMinute) {
  const auto get = [this](v1::GetTableResponse* table) {
    v1::GetTableRequest request;
    request.set_kernel("copy");
    return Call(&v1::TableService::Stub::GetTable,
                Stub<v1::TableService>("reader.sock"), request, table)
        .ok();
  };
  auto agent = Attach("CPU-1");
  ASSERT_EQ(Reprofile().state(), v1::SUCCEEDED);
  v1::GetTableResponse profiled;
  ASSERT_TRUE(get(&profiled));
  folder_.Write("kernels/copy/tables/cpu.table", profiled.payload());
  // Another node: nothing was measured there, and the device comes later.
  agent = nullptr;
  daemon_ = nullptr;
  FakeTableStore tables;
  FakeDeviceStore devices;
  DaemonStores stores = Stores();
  stores.tables = &tables;
  stores.devices = &devices;
  auto daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  v1::GetTableResponse shipped;
  EXPECT_FALSE(get(&shipped));
  agent = Attach("CPU-1");
  ASSERT_TRUE(WaitUntil([&] { return get(&shipped); }));
  EXPECT_EQ(shipped.payload(), profiled.payload());
  EXPECT_EQ(shipped.info().how(), v1::SHIPPED);
  EXPECT_EQ(shipped.info().stale_reason(),
            "shipped with the kernel, not verified here");
  // After a restart it serves at once, once.
  agent = nullptr;
  *daemon = nullptr;
  daemon = Daemon::Start(stores, Options());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  ASSERT_TRUE(get(&shipped));
  EXPECT_EQ(shipped.info().epoch(), 1u);
  // A profile compares with it, and takes its place.
  agent = Attach("CPU-1");
  ASSERT_EQ(Reprofile().state(), v1::SUCCEEDED);
  ASSERT_TRUE(get(&shipped));
  EXPECT_EQ(shipped.info().how(), v1::PROFILED);
  EXPECT_FALSE(shipped.info().stale()) << shipped.info().stale_reason();
}

TEST_F(DaemonTablesTest, AKernelWithForeignBytesHurtsNoOther) {
  folder_.Write("kernels/latin1/manifest.textproto", "name: \"caf\xe9\"\n");
  folder_.Write("kernels/utf16/manifest.textproto",
                std::string("\xff\xfe n\0a\0", 7));
  folder_.Write("kernels/d\xe9j\xe0/manifest.textproto", "name: 7 \xe9");
  StartDaemon();
  v1::ListKernelsResponse kernels;
  const grpc::Status listed = Call(&v1::StatusService::Stub::ListKernels,
                                   Stub<v1::StatusService>("reader.sock"),
                                   v1::ListKernelsRequest(), &kernels);
  ASSERT_TRUE(listed.ok()) << listed.error_message();
  ASSERT_EQ(kernels.kernels_size(), 4);
  EXPECT_EQ(kernels.kernels(0).spec().name(), "copy");
  EXPECT_EQ(kernels.kernels(0).problem(), "");
  EXPECT_EQ(kernels.kernels(1).spec().name(), "d\\xe9j\\xe0");
  for (int i = 1; i < 4; ++i) {
    EXPECT_THAT(kernels.kernels(i).problem(), HasSubstr("is not UTF-8"));
  }
}

TEST_F(DaemonTablesTest, AnErrorOfAnyLengthArrives) {
  std::string manifest = "name: \"long\"\n";
  for (int i = 0; i < 2000; ++i) manifest += "unknown_field: 1\n";
  folder_.Write("kernels/long/manifest.textproto", manifest);
  StartDaemon();
  v1::ResolveRequest request = Problem(64, 128);
  request.set_kernel("long" + std::string(100000, 'g'));
  v1::ResolveResponse response;
  const grpc::Status status =
      Call(&v1::DecisionService::Stub::Resolve,
           Stub<v1::DecisionService>("reader.sock"), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("no table of kernel \"longgg"));
  EXPECT_THAT(status.error_message(), HasSubstr("bytes more)"));
  const auto admin = Stub<v1::AdminService>("admin.sock");
  v1::ReprofileRequest reprofile;
  reprofile.set_kernel("long");
  const auto agent = Attach("CPU-1");
  v1::ReprofileResponse none;
  EXPECT_THAT(Call(&v1::AdminService::Stub::Reprofile, admin, reprofile, &none)
                  .error_message(),
              HasSubstr("\"long\" is not valid"));
}

TEST_F(DaemonTablesTest, ListsTheSamplesBehindATable) {
  const auto agent = Attach("CPU-1");
  const v1::JobInfo job = Reprofile();
  const auto status = Stub<v1::StatusService>("reader.sock");
  const auto list = [&](const std::string& digest, int64_t* samples) {
    v1::ListSamplesRequest request;
    request.set_digest(digest);
    grpc::ClientContext context;
    const auto reader = status->ListSamples(&context, request);
    v1::ListSamplesResponse response;
    while (reader->Read(&response)) *samples += response.profiled_size();
    return reader->Finish();
  };
  int64_t samples = 0;
  const grpc::Status ended = list(job.digest(), &samples);
  EXPECT_TRUE(ended.ok()) << ended.error_message();
  EXPECT_EQ(samples, agent->measured());
  EXPECT_EQ(list(std::string(64, 'f'), &samples).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTablesTest, AReaderThatNeverReadsLosesItsListing) {
  DaemonOptions options = Options();
  options.listing_patience = std::chrono::seconds(1);
  StartDaemon(options);
  std::string digest;
  {
    const auto agent = Attach("CPU-1");
    digest = Reprofile().digest();
  }
  // More than the socket and a small window hold.
  const ProfileKey key = tables_.ListServing()->at(0).key;
  const SampleRecord sample = samples_.Load(key, 1)->samples.at(0);
  ASSERT_TRUE(
      samples_.Append(key, 1, std::vector<SampleRecord>(50000, sample), {})
          .ok());
  struct Reader {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::ListSamplesResponse>> stream;
  };
  grpc::ChannelArguments small_window;
  small_window.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  small_window.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65535);
  const auto status =
      v1::StatusService::NewStub(Channel("reader.sock", small_window));
  v1::ListSamplesRequest request;
  request.set_digest(digest);
  v1::ListSamplesResponse response;
  std::vector<std::unique_ptr<Reader>> stalled;
  for (size_t i = 0; i < SampleHandler::kMaxListings; ++i) {
    Reader& reader = *stalled.emplace_back(std::make_unique<Reader>());
    reader.stream = status->ListSamples(&reader.context, request);
    ASSERT_TRUE(reader.stream->Read(&response));
  }
  // Others have their turn.
  EXPECT_TRUE(WaitUntil([&] {
    grpc::ClientContext context;
    const auto stream = status->ListSamples(&context, request);
    int64_t samples = 0;
    while (stream->Read(&response)) samples += response.profiled_size();
    const grpc::Status ended = stream->Finish();
    if (ended.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      return false;
    }
    EXPECT_TRUE(ended.ok()) << ended.error_message();
    EXPECT_GT(samples, 50000);
    return true;
  }));
  for (const auto& reader : stalled) {
    while (reader->stream->Read(&response)) {
    }
    // Whose place another took is told so when it reads on, unless its patience
    // ended first.
    EXPECT_THAT(reader->stream->Finish().error_code(),
                ::testing::AnyOf(grpc::StatusCode::CANCELLED,
                                 grpc::StatusCode::RESOURCE_EXHAUSTED));
  }
}

TEST_F(DaemonTablesTest, AnswersWithTheDefaultWithoutATable) {
  const auto decisions = Stub<v1::DecisionService>("reader.sock");
  v1::ResolveResponse response;
  ASSERT_TRUE(Call(&v1::DecisionService::Stub::Resolve, decisions,
                   Problem(1, 1), &response)
                  .ok());
  EXPECT_EQ(response.decisions(0).source(), v1::DEFAULT);
  EXPECT_EQ(response.decisions(0).configuration(0).value(), 32);
  // A bad problem has its own answer and leaves the others theirs.
  v1::ResolveRequest wrong = Problem(1, 1);
  wrong.mutable_problems(0)->mutable_extents(0)->set_dimension("x");
  *wrong.add_problems() = Problem(1, 1).problems(0);
  ASSERT_TRUE(
      Call(&v1::DecisionService::Stub::Resolve, decisions, wrong, &response)
          .ok());
  ASSERT_EQ(response.decisions_size(), 2);
  EXPECT_EQ(response.decisions(0).source(), v1::DEFAULT);
  EXPECT_EQ(response.decisions(0).configuration(0).value(), 32);
  EXPECT_THAT(response.decisions(0).reason(), HasSubstr("\"x\""));
  EXPECT_THAT(response.decisions(1).reason(), Not(HasSubstr("\"x\"")));
  wrong = Problem(1, 1);
  wrong.set_kernel("nope");
  EXPECT_EQ(
      Call(&v1::DecisionService::Stub::Resolve, decisions, wrong, &response)
          .error_code(),
      grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTablesTest, AnEditedKernelIsServedItsNewTable) {
  const auto agent = Attach("CPU-1");
  const v1::JobInfo first = Reprofile();
  folder_.Write("kernels/copy/copy.cl", "another version of the kernel");
  const v1::JobInfo second = Reprofile();
  ASSERT_NE(first.digest(), second.digest());
  v1::GetTableRequest request;
  request.set_kernel("copy");
  v1::GetTableResponse response;
  const grpc::Status status =
      Call(&v1::TableService::Stub::GetTable,
           Stub<v1::TableService>("reader.sock"), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.info().digest(), second.digest());
}

TEST_F(DaemonTablesTest, AWatchSeesPromotionsAndEndsWithTheDaemon) {
  const auto agent = Attach("CPU-1");
  const auto tables = Stub<v1::TableService>("reader.sock");
  grpc::ClientContext context;
  const auto reader = tables->WatchTables(&context, v1::WatchTablesRequest());
  v1::WatchTablesResponse notice;
  ASSERT_TRUE(reader->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::SYNCED);
  const v1::JobInfo job = Reprofile();
  ASSERT_TRUE(reader->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::PROMOTED);
  EXPECT_EQ(notice.table().digest(), job.digest());

  grpc::ClientContext other_store;
  v1::WatchTablesRequest from;
  from.set_store_id("store-0");
  from.set_from_revision(9);
  const auto resync = tables->WatchTables(&other_store, from);
  ASSERT_TRUE(resync->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::RESYNC);
  ASSERT_TRUE(resync->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::SNAPSHOT);

  daemon_->Stop();
  EXPECT_FALSE(reader->Read(&notice));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DaemonTablesTest, RollsBackTellsWatchersAndSaysWhoDidIt) {
  const auto agent = Attach("CPU-1");
  const v1::JobInfo first = Reprofile();
  ASSERT_EQ(first.state(), v1::SUCCEEDED) << first.message();
  const std::string me = std::to_string(::geteuid());
  EXPECT_EQ(first.by(), me);
  folder_.Write("kernels/copy/copy.cl", "edited source");
  const v1::JobInfo second = Reprofile();
  ASSERT_NE(second.digest(), "") << second.message();
  ASSERT_NE(second.digest(), first.digest());

  const auto tables = Stub<v1::TableService>("reader.sock");
  grpc::ClientContext context;
  const auto watch = tables->WatchTables(&context, v1::WatchTablesRequest());
  v1::WatchTablesResponse notice;
  while (watch->Read(&notice) &&
         notice.kind() != v1::WatchTablesResponse::SYNCED) {
  }
  const auto admin = Stub<v1::AdminService>("admin.sock");
  v1::RollBackRequest request;
  request.set_kernel("copy");
  request.set_reason("slower in production");
  v1::RollBackResponse response;
  const grpc::Status status =
      Call(&v1::AdminService::Stub::RollBack, admin, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.table().digest(), first.digest());
  EXPECT_EQ(response.table().by(), me);
  ASSERT_TRUE(watch->Read(&notice));
  EXPECT_EQ(notice.kind(), v1::WatchTablesResponse::PROMOTED);
  EXPECT_EQ(notice.table().digest(), first.digest());
  EXPECT_EQ(notice.table().how(), v1::ROLLED_BACK);
  context.TryCancel();

  v1::PinTableRequest pin;
  pin.set_kernel("copy");
  v1::PinTableResponse pinned;
  ASSERT_TRUE(
      Call(&v1::AdminService::Stub::PinTable, admin, pin, &pinned).ok());
  const v1::JobInfo third = Reprofile();
  EXPECT_EQ(third.state(), v1::SUCCEEDED);
  EXPECT_THAT(third.message(), HasSubstr("is pinned"));
  v1::UnpinTableRequest unpin;
  unpin.set_kernel("copy");
  v1::UnpinTableResponse unpinned;
  ASSERT_TRUE(
      Call(&v1::AdminService::Stub::UnpinTable, admin, unpin, &unpinned).ok());

  // A restart keeps what was rolled back, and why.
  StartDaemon();
  const auto anew = Stub<v1::TableService>("reader.sock");
  v1::ListTableHistoryRequest which;
  which.set_kernel("copy");
  v1::ListTableHistoryResponse history;
  ASSERT_TRUE(
      Call(&v1::TableService::Stub::ListTableHistory, anew, which, &history)
          .ok());
  ASSERT_EQ(history.tables_size(), 3);
  EXPECT_EQ(history.tables(0).digest(), first.digest());
  EXPECT_EQ(history.tables(0).why(), "slower in production");
  EXPECT_EQ(history.tables(1).job_id(), second.id());
  EXPECT_EQ(history.serving(0), first.digest());
}

// Only who may use the admin socket changes what serves.
TEST_F(DaemonTablesTest, TheReaderSocketRollsNothingBack) {
  const auto reader = Stub<v1::AdminService>("reader.sock");
  v1::RollBackRequest request;
  request.set_kernel("copy");
  v1::RollBackResponse response;
  EXPECT_EQ(Call(&v1::AdminService::Stub::RollBack, reader, request, &response)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(DaemonTablesTest, TellsWhatHappened) {
  const auto status = Stub<v1::StatusService>("reader.sock");
  auto agent = Attach("CPU-1");
  const v1::JobInfo job = Reprofile();
  ASSERT_EQ(job.state(), v1::SUCCEEDED) << job.message();
  const auto kinds_of = [&] {
    v1::ListEventsResponse list;
    EXPECT_TRUE(Call(&v1::StatusService::Stub::ListEvents, status,
                     v1::ListEventsRequest(), &list)
                    .ok());
    std::vector<int> kinds;
    for (const v1::Event& event : list.events()) kinds.push_back(event.kind());
    return kinds;
  };
  const std::vector<int> expected = {v1::Event::JOB_ENDED, v1::Event::PROMOTED,
                                     v1::Event::JOB_STARTED,
                                     v1::Event::DEVICE_ATTACHED};
  ASSERT_TRUE(WaitUntil([&] { return kinds_of() == expected; }))
      << ::testing::PrintToString(kinds_of());
  // A restart keeps them, and numbers go on.
  agent = nullptr;
  StartDaemon();
  const auto anew = Stub<v1::StatusService>("reader.sock");
  v1::ListEventsResponse list;
  ASSERT_TRUE(Call(&v1::StatusService::Stub::ListEvents, anew,
                   v1::ListEventsRequest(), &list)
                  .ok());
  ASSERT_GE(list.events_size(), 4);
  EXPECT_EQ(list.events(list.events_size() - 1).kind(),
            v1::Event::DEVICE_ATTACHED);
  grpc::ClientContext second;
  v1::WatchEventsRequest from;
  const uint64_t first_id = list.events(list.events_size() - 1).id();
  from.set_after_id(first_id);
  const auto again = anew->WatchEvents(&second, from);
  v1::WatchEventsResponse event;
  ASSERT_TRUE(again->Read(&event));
  EXPECT_EQ(event.event().id(), first_id + 1);
  EXPECT_EQ(event.event().kind(), v1::Event::JOB_STARTED);
  EXPECT_EQ(event.event().by(), std::to_string(::geteuid()));
  ASSERT_TRUE(again->Read(&event));
  EXPECT_EQ(event.event().kind(), v1::Event::PROMOTED);
  EXPECT_EQ(event.event().digest(), job.digest());
  second.TryCancel();
}

}  // namespace
}  // namespace wavetune
