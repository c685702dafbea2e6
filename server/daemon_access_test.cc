// Who may call what: every method by every way in.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/daemon_fixture.h"
#include "tests/lib/freezing_relay.h"
#include "tests/lib/source_paths.h"
#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestAuthority;
using Identity = TestAuthority::Identity;

// The ways in, in the order of the table's columns.
constexpr const char* kWays[] = {"reader.sock", "agent.sock", "admin.sock",
                                 "reader",      "agent",      "admin"};

// Which method may be called by which way: y or -, for the three sockets, and
// over TCP for the certificates of a reader, an agent and an admin. A method
// without a row fails the test.
constexpr char kReads[] = "y-- y-y";
constexpr char kReports[] = "-y- -y-";
constexpr char kAdministers[] = "--y --y";
constexpr char kAnybody[] = "yyy yyy";
const std::map<std::string, const char*>& MethodRows() {
  static const auto* const table = new std::map<std::string, const char*>{
      {"/wavetune.v1.TableService/ListTables", kReads},
      {"/wavetune.v1.TableService/GetTable", kReads},
      {"/wavetune.v1.TableService/WatchTables", kReads},
      {"/wavetune.v1.TableService/AnnounceTableSet", kReads},
      {"/wavetune.v1.TableService/GetTableSet", kReads},
      {"/wavetune.v1.TableService/ListTableHistory", kReads},
      {"/wavetune.v1.TableService/ListRejectedTables", kReads},
      {"/wavetune.v1.DecisionService/Resolve", kReads},
      {"/wavetune.v1.DecisionService/Explain", kReads},
      {"/wavetune.v1.StatusService/GetStatus", kReads},
      {"/wavetune.v1.StatusService/GetFleet", kReads},
      {"/wavetune.v1.StatusService/ListFleetNodes", kReads},
      {"/wavetune.v1.StatusService/ListDevices", kReads},
      {"/wavetune.v1.StatusService/ListKernels", kReads},
      {"/wavetune.v1.StatusService/ListJobs", kReads},
      {"/wavetune.v1.StatusService/GetJob", kReads},
      {"/wavetune.v1.StatusService/ListSamples", kReads},
      {"/wavetune.v1.StatusService/ListEvents", kReads},
      {"/wavetune.v1.StatusService/WatchEvents", kReads},
      {"/wavetune.v1.UsageService/ReportUsage", kReads},
      {"/wavetune.v1.UsageService/GetUsage", kReads},
      {"/wavetune.v1.WorkloadService/AddWorkload", kReads},
      {"/wavetune.v1.WorkloadService/ListWorkloads", kReads},
      {"/wavetune.v1.WorkloadService/GetWorkload", kReads},
      {"/wavetune.v1.AgentService/Attach", kReports},
      {"/wavetune.v1.AdminService/Reprofile", kAdministers},
      {"/wavetune.v1.AdminService/CancelJob", kAdministers},
      {"/wavetune.v1.AdminService/WatchJob", kAdministers},
      {"/wavetune.v1.AdminService/Measure", kAdministers},
      {"/wavetune.v1.AdminService/RemoveWorkload", kAdministers},
      {"/wavetune.v1.AdminService/RollBack", kAdministers},
      {"/wavetune.v1.AdminService/PinTable", kAdministers},
      {"/wavetune.v1.AdminService/UnpinTable", kAdministers},
      {"/wavetune.v1.AdminService/ImportTable", kAdministers},
      {"/wavetune.v1.AdminService/RetireTable", kAdministers},
      {"/wavetune.v1.AdminService/BackUpStore", kAdministers},
      {"/wavetune.v1.AdminService/CheckStore", kAdministers},
      {"/wavetune.v1.AdminService/CompactStore", kAdministers},
      {"/wavetune.v1.AdminService/PublishToFleet", kAdministers},
      {"/wavetune.v1.AdminService/FreezeInFleet", kAdministers},
      {"/wavetune.v1.AdminService/UnfreezeInFleet", kAdministers},
      {"/wavetune.v1.AdminService/RollBackFleet", kAdministers},
      {"/grpc.health.v1.Health/Check", kAnybody},
      {"/grpc.health.v1.Health/Watch", kAnybody},
  };
  return *table;
}

// Every method that a .proto file of ours declares.
std::vector<std::string> DeclaredMethods() {
  std::vector<std::string> files;
  google::protobuf::DescriptorPool::internal_generated_database()
      ->FindAllFileNames(&files);
  std::vector<std::string> methods;
  for (const std::string& name : files) {
    if (!absl::StrContains(name, "wavetune/v1/")) continue;
    const auto* const file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
            name);
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* const service = file->service(i);
      for (int j = 0; j < service->method_count(); ++j) {
        methods.push_back(absl::StrCat("/", service->full_name(), "/",
                                       service->method(j)->name()));
      }
    }
  }
  return methods;
}

// Calls a method with an empty message and returns the status that it ends
// with; OK where it answers first, as a stream may go on for ever.
grpc::Status CallWithNothing(const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& method) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::minutes(1));
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  const grpc::Slice nothing;
  grpc::ByteBuffer answer;
  bool answered = false;
  if (next()) {
    call->WriteLast(grpc::ByteBuffer(&nothing, 1), {}, nullptr);
    next();
    call->Read(&answer, nullptr);
    answered = next();
  }
  if (answered) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  return answered ? grpc::Status::OK : status;
}

class DaemonAccessTest : public DaemonFixture {
 protected:
  void SetUp() override {
    folder_.WriteKernel("copy");
    WriteSecret("server.crt", server_.cert);
    WriteSecret("server.key", server_.key);
    WriteSecret("ca.crt", authority_.cert());
    std::filesystem::copy_file(WAVETUNE_SOURCE_DIR "/deploy/authz/policy.json",
                               folder_ / "policy");
    ASSERT_EQ(::chmod((folder_ / "policy").c_str(), 0644), 0);
    StartDaemon(TcpOptionsOf());
  }

  DaemonOptions TcpOptionsOf() const {
    DaemonOptions options = Options();
    options.tcp.address = "127.0.0.1:0";
    options.tcp.files = {.tls = {.cert = folder_ / "server.crt",
                                 .key = folder_ / "server.key",
                                 .ca = folder_ / "ca.crt"},
                         .policy = folder_ / "policy"};
    options.tcp.look_interval = std::chrono::milliseconds(20);
    return options;
  }
  void WriteSecret(const std::string& name, const std::string& text) const {
    folder_.Write(name, text);
    ASSERT_EQ(::chmod((folder_ / name).c_str(), 0600), 0);
  }

  static Identity Issue(const TestAuthority& authority,
                        const std::string& role) {
    return authority.Issue({"URI:spiffe://wavetune/" + role});
  }

  // A connection of its own that shows `identity`, or nothing, and believes
  // `authority`.
  std::shared_ptr<grpc::Channel> TcpChannel(
      const std::optional<Identity>& identity,
      const TestAuthority& authority) const {
    return TcpChannelTo(daemon_->tcp_address(), identity, authority);
  }
  static std::shared_ptr<grpc::Channel> TcpChannelTo(
      const std::string& address, const std::optional<Identity>& identity,
      const TestAuthority& authority) {
    namespace tls = grpc::experimental;
    std::vector<tls::IdentityKeyCertPair> pairs;
    if (identity) pairs.push_back({identity->key, identity->cert});
    tls::TlsChannelCredentialsOptions options;
    options.set_certificate_provider(
        std::make_shared<tls::StaticDataCertificateProvider>(authority.cert(),
                                                             pairs));
    options.watch_root_certs();
    if (identity) options.watch_identity_key_cert_pairs();
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address, tls::TlsCredentials(options),
                                     own);
  }
  std::shared_ptr<grpc::Channel> TcpChannel(const std::string& role) const {
    return TcpChannel(Issue(authority_, role), authority_);
  }

  std::shared_ptr<grpc::Channel> ChannelBy(const std::string& way) const {
    return absl::EndsWith(way, ".sock") ? Channel(way) : TcpChannel(way);
  }

  static grpc::Status GetStatus(const std::shared_ptr<grpc::Channel>& channel,
                                grpc::ClientContext* context) {
    const auto stub = v1::StatusService::NewStub(channel);
    v1::GetStatusResponse response;
    return stub->GetStatus(context, v1::GetStatusRequest(), &response);
  }
  static grpc::Status GetStatus(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    return GetStatus(channel, &context);
  }
  int64_t Watchers() const {
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    v1::StatusService::NewStub(Channel("reader.sock"))
        ->GetStatus(&context, v1::GetStatusRequest(), &response);
    return response.watchers();
  }
  // The certificate that the daemon shows on a new connection.
  std::string ShownCertificate() const {
    grpc::ClientContext context;
    const grpc::Status status = GetStatus(TcpChannel("reader"), &context);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) return "";
    const auto shown = context.auth_context()->FindPropertyValues(
        GRPC_X509_PEM_CERT_PROPERTY_NAME);
    return shown.empty() ? "" : std::string(shown[0].data(), shown[0].size());
  }

  const TestAuthority authority_{"the daemon's"};
  const TestAuthority foreign_{"somebody's"};
  const Identity server_ = authority_.Issue({"IP:127.0.0.1"});
};

TEST_F(DaemonAccessTest, EveryMethodHasARow) {
  const std::vector<std::string> methods = DeclaredMethods();
  EXPECT_GE(methods.size(), 24u);
  for (const std::string& method : methods) {
    EXPECT_TRUE(MethodRows().contains(method)) << method;
  }
}

TEST_F(DaemonAccessTest, EveryMethodIsForThoseRolesThatItsRowNames) {
  for (size_t i = 0; i < std::size(kWays); ++i) {
    const auto channel = ChannelBy(kWays[i]);
    const size_t column = i < 3 ? i : i + 1;  // There is a gap in the row.
    for (const auto& [method, row] : MethodRows()) {
      const grpc::Status status = CallWithNothing(channel, method);
      const grpc::StatusCode denied = i < 3
                                          ? grpc::StatusCode::UNIMPLEMENTED
                                          : grpc::StatusCode::PERMISSION_DENIED;
      EXPECT_EQ(status.error_code() != denied, row[column] == 'y')
          << method << " by " << kWays[i] << ": " << status.error_code() << " "
          << status.error_message();
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE)
          << method << " by " << kWays[i];
      EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED)
          << method << " by " << kWays[i];
    }
  }
}

TEST_F(DaemonAccessTest, WithoutAGoodCertificateNoMethodCanBeCalled) {
  using std::chrono::hours;
  const std::vector<std::string> admin = {"URI:spiffe://wavetune/admin"};
  const std::map<std::string, std::optional<Identity>> strangers = {
      {"none", std::nullopt},
      {"of a foreign authority", foreign_.Issue(admin)},
      {"expired", authority_.Issue(admin, {hours(-48), hours(-24)})},
      {"not valid yet", authority_.Issue(admin, {hours(24), hours(48)})}};
  for (const auto& [what, identity] : strangers) {
    for (const auto& [method, row] : MethodRows()) {
      // Each by a connection of its own.
      const grpc::Status status =
          CallWithNothing(TcpChannel(identity, authority_), method);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE)
          << method << " with a certificate: " << what << ": "
          << status.error_message();
    }
  }
  EXPECT_TRUE(GetStatus(TcpChannel("reader")).ok());
}

TEST_F(DaemonAccessTest, PlaintextOverTcpIsNotHeard) {
  const auto channel = grpc::CreateChannel(daemon_->tcp_address(),
                                           grpc::InsecureChannelCredentials());
  EXPECT_EQ(GetStatus(channel).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DaemonAccessTest, AClientBelievesNoDaemonOfAForeignAuthority) {
  const auto channel = TcpChannel(Issue(authority_, "reader"), foreign_);
  EXPECT_EQ(GetStatus(channel).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DaemonAccessTest, AReaderThatIsGoneWithoutAWordIsForgotten) {
  daemon_->Stop();
  DaemonOptions options = TcpOptionsOf();
  options.tcp.ping_after = std::chrono::milliseconds(200);
  StartDaemon(options);
  const std::string address = daemon_->tcp_address();
  testing::FreezingRelay relay(
      static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  const auto stub = v1::TableService::NewStub(
      TcpChannelTo(relay.address(), Issue(authority_, "reader"), authority_));
  grpc::ClientContext context;
  const auto watch = stub->WatchTables(&context, v1::WatchTablesRequest());
  v1::WatchTablesResponse notice;
  ASSERT_TRUE(watch->Read(&notice));
  EXPECT_EQ(Watchers(), 1);
  relay.Freeze();
  for (int look = 0; look < 600 && Watchers() > 0; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(Watchers(), 0);
  context.TryCancel();
}

TEST_F(DaemonAccessTest, ADenialSaysWhoMayNotCallWhat) {
  const grpc::Status status = CallWithNothing(
      TcpChannel("reader/alice"), "/wavetune.v1.AdminService/Reprofile");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("spiffe://wavetune/reader/alice may not call "
                              "/wavetune.v1.AdminService/Reprofile"),
                    HasSubstr("--authz-policy")));
}

// Who issues for hosts alone, or by mistake two URIs, makes no admin.
TEST_F(DaemonAccessTest, OnlyTheOneUriOfACertificateNamesARole) {
  const std::string method = "/wavetune.v1.AdminService/CancelJob";
  const std::map<std::string, std::vector<std::string>> nobody = {
      {"a DNS name", {"DNS:spiffe://wavetune/admin/eve"}},
      {"a second URI",
       {"URI:spiffe://wavetune/reader", "URI:spiffe://wavetune/admin"}},
      {"a second URI that comes first",
       {"URI:spiffe://wavetune/admin", "URI:spiffe://wavetune/reader"}}};
  for (const auto& [what, names] : nobody) {
    EXPECT_EQ(
        CallWithNothing(TcpChannel(authority_.Issue(names), authority_), method)
            .error_code(),
        grpc::StatusCode::PERMISSION_DENIED)
        << what;
  }
}

TEST_F(DaemonAccessTest, ADenialSaysWhichRuleDenies) {
  folder_.Write("policy", R"({"name": "p", "deny_rules": [{"name": "lost",
      "source": {"principals": ["spiffe://wavetune/reader"]}}],
      "allow_rules": [{"name": "all"}]})");
  daemon_->Reload();
  const grpc::Status status = GetStatus(TcpChannel("reader"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("the rule \"lost\""), HasSubstr("deny_rules")));
}

TEST_F(DaemonAccessTest, ACertificateOfNoRoleMayAskForHealthAlone) {
  const auto channel = TcpChannel("somebody");
  for (const auto& [method, row] : MethodRows()) {
    const bool denied = CallWithNothing(channel, method).error_code() ==
                        grpc::StatusCode::PERMISSION_DENIED;
    EXPECT_EQ(denied, row != kAnybody) << method;
  }
}

TEST_F(DaemonAccessTest, AnAgentAttachesAndAnAdminProfilesOverTcp) {
  ScriptedAgent agent(TcpChannel("agent"), "CPU-1");
  ASSERT_TRUE(agent.greeted());
  const auto status = v1::StatusService::NewStub(TcpChannel("admin"));
  ASSERT_TRUE(WaitUntil([&] { return IsAttached(status, "CPU-1"); }));
  const auto admin = v1::AdminService::NewStub(TcpChannel("admin/alice"));
  v1::ReprofileResponse response;
  ASSERT_TRUE(Call(&v1::AdminService::Stub::Reprofile, admin,
                   v1::ReprofileRequest(), &response)
                  .ok());
  ASSERT_EQ(response.jobs_size(), 1);
  grpc::ClientContext context;
  v1::WatchJobRequest watch;
  watch.set_id(response.jobs(0).id());
  const auto reader = admin->WatchJob(&context, watch);
  v1::WatchJobResponse progress;
  while (reader->Read(&progress)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(progress.job().state(), v1::SUCCEEDED) << progress.job().message();
  EXPECT_EQ(progress.job().by(), "tls:spiffe://wavetune/admin/alice");
}

TEST_F(DaemonAccessTest, StopsAlthoughStreamsAreOpenOverTcp) {
  grpc::ClientContext context;
  const auto tables = v1::TableService::NewStub(TcpChannel("reader"));
  const auto watch = tables->WatchTables(&context, v1::WatchTablesRequest());
  v1::WatchTablesResponse notice;
  ASSERT_TRUE(watch->Read(&notice));
  daemon_ = nullptr;
  while (watch->Read(&notice)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DaemonAccessTest, CertificatesAreReplacedUnderLoadWithoutAFailedCall) {
  std::atomic<bool> done = false;
  std::atomic<int> calls = 0;
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto call = [&](const std::shared_ptr<grpc::Channel>& channel) {
    const grpc::Status status = GetStatus(channel);
    ++calls;
    if (status.ok()) return;
    std::lock_guard lock(mutex);
    failures.push_back(status.error_message());
  };
  // Some hold a connection, some make one for each call.
  std::vector<std::thread> load;
  for (int i = 0; i < 2; ++i) {
    load.emplace_back([&] {
      const auto channel = TcpChannel("reader");
      while (!done.load()) call(channel);
    });
    load.emplace_back([&] {
      while (!done.load()) call(TcpChannel("reader"));
    });
  }
  for (int round = 0; round < 10; ++round) {
    const Identity next = authority_.Issue({"IP:127.0.0.1"});
    // For some looks the files do not belong together.
    WriteSecret("server.key", next.key);
    const int before = calls.load();
    EXPECT_TRUE(WaitUntil([&] { return calls.load() > before + 50; }));
    WriteSecret("server.crt", next.cert);
    EXPECT_TRUE(WaitUntil([&] { return ShownCertificate() == next.cert; }));
  }
  done.store(true);
  for (std::thread& thread : load) thread.join();
  EXPECT_GT(calls.load(), 500);
  EXPECT_THAT(failures, IsEmpty()) << "of " << calls.load();
}

TEST_F(DaemonAccessTest, AnAuthorityIsReplacedWithoutARestart) {
  const auto old = TcpChannel("reader");
  const auto by_the_new = [this] {
    return GetStatus(TcpChannel(Issue(foreign_, "reader"), authority_)).ok();
  };
  ASSERT_TRUE(GetStatus(old).ok());
  ASSERT_FALSE(by_the_new());
  // For a while both are believed.
  WriteSecret("ca.crt", authority_.cert() + foreign_.cert());
  EXPECT_TRUE(WaitUntil(by_the_new));
  EXPECT_TRUE(GetStatus(TcpChannel("reader")).ok());
  WriteSecret("ca.crt", foreign_.cert());
  EXPECT_TRUE(
      WaitUntil([this] { return !GetStatus(TcpChannel("reader")).ok(); }));
  EXPECT_TRUE(by_the_new());
  // What is connected stays so.
  EXPECT_TRUE(GetStatus(old).ok());
}

TEST_F(DaemonAccessTest, APolicyIsReplacedForConnectionsThatAreOpenToo) {
  const auto channel = TcpChannel("reader");
  const auto denied = [&] {
    return GetStatus(channel).error_code() ==
           grpc::StatusCode::PERMISSION_DENIED;
  };
  ASSERT_TRUE(GetStatus(channel).ok());
  folder_.Write("policy", R"({"name": "p", "allow_rules": [{"name": "a",
      "source": {"principals": ["spiffe://wavetune/admin"]}}]})");
  EXPECT_TRUE(WaitUntil(denied));
  // What does not parse changes nothing.
  folder_.Write("policy", "{");
  daemon_->Reload();
  EXPECT_TRUE(denied());
  EXPECT_TRUE(GetStatus(TcpChannel("admin")).ok());
}

TEST_F(DaemonAccessTest, TcpNeedsAllItsOptions) {
  DaemonOptions options = TcpOptionsOf();
  options.tcp.files.tls.key = "";
  options.tcp.files.policy = "";
  const absl::Status status = TryToStart(options);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("missing: --tls-key, --authz-policy"));
  options = TcpOptionsOf();
  options.tcp.address = "";
  EXPECT_THAT(std::string(TryToStart(options).message()),
              HasSubstr("missing: --listen-tcp"));
  // What clients' variables name is no wish to listen.
  options.tcp.files.policy = "";
  EXPECT_TRUE(TryToStart(options).ok());
  EXPECT_EQ(daemon_->tcp_address(), "");
}

TEST_F(DaemonAccessTest, DoesNotStartWithAPolicyThatDoesNotParse) {
  folder_.Write("policy", R"({"name": "p", "allow": []})");
  const absl::Status status = TryToStart(TcpOptionsOf());
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(folder_ / "policy"), HasSubstr("\"allow\"")));
  std::filesystem::remove(folder_ / "policy");
  EXPECT_TRUE(absl::IsNotFound(TryToStart(TcpOptionsOf())));
}

TEST_F(DaemonAccessTest, DoesNotStartWithAKeyOfAnotherCertificate) {
  WriteSecret("server.key", Issue(authority_, "reader").key);
  const absl::Status status = TryToStart(TcpOptionsOf());
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not the key of"));
}

TEST_F(DaemonAccessTest, ACheckRefusesACertificateThatHasExpired) {
  using std::chrono::hours;
  EXPECT_TRUE(Daemon::Check(TcpOptionsOf()).ok());
  const Identity expired =
      authority_.Issue({"IP:127.0.0.1"}, {hours(-48), hours(-24)});
  WriteSecret("server.key", expired.key);
  WriteSecret("server.crt", expired.cert);
  const absl::Status status = Daemon::Check(TcpOptionsOf());
  EXPECT_THAT(std::string(status.message()), HasSubstr("has expired at"));
}

TEST_F(DaemonAccessTest, SaysThatSomebodyListensThereAlready) {
  DaemonOptions options = TcpOptionsOf();
  options.tcp.address = daemon_->tcp_address();
  options.reader_socket = folder_ / "other/reader.sock";
  options.agent_socket = folder_ / "other/agent.sock";
  options.admin_socket = folder_ / "other/admin.sock";
  const auto second = Daemon::Start(Stores(), options);
  EXPECT_TRUE(absl::IsAlreadyExists(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("--listen-tcp"));
}

}  // namespace
}  // namespace wavetune
