#include "server/fleet/etcd/etcd_registry.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/fleet/etcd/test_etcd.h"
#include "server/fleet/fleet_registry_contract_test.h"
#include "tests/lib/freezing_relay.h"
#include "tests/lib/test_authority.h"

namespace wavetune::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;

// Takes connections on loopback and says `answer` to each, if any.
class OtherServer {
 public:
  explicit OtherServer(std::string answer = "")
      : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const plain = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(listening_, plain, size), 0);
    EXPECT_EQ(listen(listening_, 16), 0);
    EXPECT_EQ(getsockname(listening_, plain, &size), 0);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    if (answer.empty()) return;
    thread_ = std::thread([this, answer = std::move(answer)] {
      while (true) {
        const int peer = accept(listening_, nullptr, nullptr);
        if (peer < 0) return;
        send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        close(peer);
      }
    });
  }
  ~OtherServer() {
    shutdown(listening_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(listening_);
  }
  const std::string& endpoint() const { return endpoint_; }

 private:
  const int listening_;
  std::string endpoint_;
  std::thread thread_;
};

// An etcd in this process that says what a test wants.
class OddEtcd : private grpc::Service {
 public:
  using Ranges = std::function<etcdserverpb::RangeResponse(
      const etcdserverpb::RangeRequest&)>;
  // Answers to the creation of a watch, whose key is given.
  using Watches = std::function<std::vector<etcdserverpb::WatchResponse>(
      const std::string& key)>;

  explicit OddEtcd(
      Ranges ranges, Watches watches =
                         [](const std::string&) {
                           return std::vector<etcdserverpb::WatchResponse>();
                         })
      : ranges_(std::move(ranges)), watches_(std::move(watches)) {
    using grpc::internal::BidiStreamingHandler;
    using grpc::internal::RpcMethod;
    using grpc::internal::RpcMethodHandler;
    using grpc::internal::RpcServiceMethod;
    AddMethod(new RpcServiceMethod(
        "/etcdserverpb.KV/Range", RpcMethod::NORMAL_RPC,
        new RpcMethodHandler<OddEtcd, etcdserverpb::RangeRequest,
                             etcdserverpb::RangeResponse>(
            [](OddEtcd* self, grpc::ServerContext*, const auto* request,
               auto* response) { return self->Range(*request, response); },
            this)));
    AddMethod(new RpcServiceMethod(
        "/etcdserverpb.Watch/Watch", RpcMethod::BIDI_STREAMING,
        new BidiStreamingHandler<OddEtcd, etcdserverpb::WatchRequest,
                                 etcdserverpb::WatchResponse>(
            [](OddEtcd* self, grpc::ServerContext*, auto* stream) {
              return self->Watch(stream);
            },
            this)));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~OddEtcd() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string url() const {
    return "etcd://127.0.0.1:" + std::to_string(port_);
  }
  int listings() const { return listings_; }

 private:
  grpc::Status Range(const etcdserverpb::RangeRequest& request,
                     etcdserverpb::RangeResponse* response) {
    if (!request.range_end().empty()) ++listings_;
    *response = ranges_(request);
    return grpc::Status::OK;
  }
  grpc::Status Watch(
      grpc::ServerReaderWriter<etcdserverpb::WatchResponse,
                               etcdserverpb::WatchRequest>* stream) {
    etcdserverpb::WatchRequest request;
    while (stream->Read(&request)) {
      for (const auto& response : watches_(request.create_request().key()))
        stream->Write(response);
    }
    return grpc::Status::OK;
  }

  const Ranges ranges_;
  const Watches watches_;
  std::atomic<int> listings_ = 0;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

etcdserverpb::RangeResponse Nothing(const etcdserverpb::RangeRequest&) {
  etcdserverpb::RangeResponse response;
  response.mutable_header()->set_revision(5);
  return response;
}

etcdserverpb::WatchResponse WatchAnswer(int64_t id, bool created,
                                        const std::string& key = "") {
  etcdserverpb::WatchResponse response;
  response.set_watch_id(id);
  response.set_created(created);
  response.mutable_header()->set_revision(6);
  if (key.empty()) return response;
  etcdserverpb::KeyValue& kv = *response.add_events()->mutable_kv();
  kv.set_key(key);
  kv.set_value("x");
  kv.set_mod_revision(6);
  return response;
}

class EtcdUnderTest : public FleetUnderTest {
 public:
  EtcdUnderTest() { etcd_.Start(); }
  std::unique_ptr<FleetRegistry> Join() override {
    EtcdOptions options = ParseEtcdUrl(etcd_.url()).value();
    options.session_ttl = std::chrono::seconds(3);
    return EtcdRegistry::Create(options).value();
  }
  void Stop() override { etcd_.Kill(); }
  void Start() override { etcd_.Start(); }

 private:
  TestEtcd etcd_;
};

std::unique_ptr<FleetUnderTest> MakeEtcdFleet() {
  return std::make_unique<EtcdUnderTest>();
}

INSTANTIATE_TEST_SUITE_P(Etcd, FleetRegistryContractTest,
                         ::testing::Values(&MakeEtcdFleet));

class EtcdRegistryTest : public ::testing::Test {
 protected:
  static std::unique_ptr<EtcdRegistry> Join(const std::string& url) {
    EtcdOptions options = ParseEtcdUrl(url).value();
    options.session_ttl = std::chrono::seconds(3);
    options.call_timeout = std::chrono::milliseconds(2000);
    return EtcdRegistry::Create(options).value();
  }
  static absl::Status Commit(FleetRegistry& node, const std::string& value) {
    return node.Commit({{.key = "heads/a", .value = value}}).status();
  }
  // Calls of it wait for minutes, and its lease lasts as long.
  static std::unique_ptr<EtcdRegistry> JoinPatiently(const std::string& url) {
    EtcdOptions options = ParseEtcdUrl(url).value();
    options.session_ttl = std::chrono::minutes(10);
    options.call_timeout = std::chrono::minutes(10);
    return EtcdRegistry::Create(options).value();
  }
  // A call that waits ends, later ones fail, and the node goes, all at once.
  static void ExpectStops(std::unique_ptr<EtcdRegistry> node) {
    auto waits = std::async(std::launch::async,
                            [&] { return node->Get("heads/a").status(); });
    EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(200)),
              std::future_status::timeout);
    const auto began = steady_clock::now();
    node->Stop();
    const absl::Status ended = waits.get();
    EXPECT_TRUE(absl::IsUnavailable(ended)) << ended;
    const absl::Status later = Commit(*node, "1");
    EXPECT_TRUE(absl::IsUnavailable(later)) << later;
    node.reset();
    EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(30));
  }
  // Writes a file for an etcd or a node to read; returns its path.
  std::string WriteFile(const std::string& name, const std::string& text) {
    std::string path = etcd_.folder() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  TestEtcd etcd_;
};

TEST_F(EtcdRegistryTest, KeysAreBeneathThePrefix) {
  etcd_.Start();
  ASSERT_TRUE(Commit(*Join(etcd_.url() + "/fleets/one"), "1").ok());
  ASSERT_TRUE(Commit(*Join(etcd_.url()), "2").ok());
  EXPECT_EQ(etcd_.Etcdctl({"get", "--prefix", "/"}),
            "/fleets/one/heads/a\n1\n/wavetune/heads/a\n2\n");
}

TEST_F(EtcdRegistryTest, AnEtcdThatComesLaterIsFound) {
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  EXPECT_TRUE(follower.SeesOutage());
  const absl::Status none = Commit(*node, "1");
  EXPECT_TRUE(absl::IsUnavailable(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr(etcd_.endpoint()));
  etcd_.Start();
  EXPECT_TRUE(follower.Sees({}));
  EXPECT_TRUE(Commit(*node, "2").ok());
  EXPECT_TRUE(follower.Sees({{"heads/a", "2"}}));
}

TEST_F(EtcdRegistryTest, ADeadMemberIsPassedOver) {
  etcd_.Start();
  const auto node = Join("etcd://127.0.0.1:" + std::to_string(FreePort()) +
                         "," + etcd_.endpoint());
  EXPECT_TRUE(Commit(*node, "1").ok());
}

TEST_F(EtcdRegistryTest, ACompactedRevisionIsListedAnew) {
  etcd_.Start();
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  ASSERT_TRUE(Commit(*node, "1").ok());
  ASSERT_TRUE(follower.Sees({{"heads/a", "1"}}));
  // While it is away, so much happens that etcd forgets the beginning.
  etcd_.Kill();
  ASSERT_TRUE(follower.SeesOutage());
  etcd_.Start();
  for (const char* const value : {"2", "3", "4"})
    etcd_.Etcdctl({"put", "/wavetune/heads/a", value});
  const auto revision = Join(etcd_.url())->List("heads/")->revision;
  etcd_.Etcdctl({"compact", std::to_string(revision)});
  EXPECT_TRUE(follower.Sees({{"heads/a", "4"}}));
}

TEST_F(EtcdRegistryTest, ARestoredBackupIsListedAnew) {
  etcd_.Start();
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  ASSERT_TRUE(Commit(*node, "1").ok());
  const std::string backup = etcd_.folder() + "/backup";
  etcd_.Etcdctl({"snapshot", "save", backup});
  for (const char* const value : {"2", "3", "4"})
    ASSERT_TRUE(Commit(*node, value).ok());
  ASSERT_TRUE(follower.Sees({{"heads/a", "4"}}));
  etcd_.Restore(backup);
  EXPECT_TRUE(follower.Sees({{"heads/a", "1"}}));
  EXPECT_TRUE(Commit(*node, "5").ok());
  EXPECT_TRUE(follower.Sees({{"heads/a", "5"}}));
}

TEST_F(EtcdRegistryTest, ABackupThatHasOvertakenIsListedAnew) {
  etcd_.Start();
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  ASSERT_TRUE(Commit(*node, "1").ok());
  const std::string backup = etcd_.folder() + "/backup";
  etcd_.Etcdctl({"snapshot", "save", backup});
  ASSERT_TRUE(node->Commit({{.key = "heads/b", .value = "2"}}).ok());
  ASSERT_TRUE(follower.Sees({{"heads/a", "1"}, {"heads/b", "2"}}));
  // Before the node comes back, more has happened than it had seen.
  TestEtcd restored;
  restored.Restore(backup);
  restored.Etcdctl({"put", "/wavetune/heads/a", "3"});
  for (int i = 0; i < 5; ++i) restored.Etcdctl({"put", "/other", "x"});
  restored.Etcdctl({"snapshot", "save", backup + "2"});
  etcd_.Restore(backup + "2");
  EXPECT_TRUE(follower.Sees({{"heads/a", "3"}}));
}

TEST_F(EtcdRegistryTest, TheProxyOfTheWebIsNotAskedForEtcd) {
  const OtherServer proxy("HTTP/1.1 403 Forbidden\r\n\r\n");
  const OddEtcd etcd(Nothing);
  ASSERT_EQ(setenv("grpc_proxy", ("http://" + proxy.endpoint()).c_str(), 1), 0);
  const auto node = Join(etcd.url());
  const auto listing = node->List("heads/");
  unsetenv("grpc_proxy");
  EXPECT_TRUE(listing.ok()) << listing.status();
}

TEST_F(EtcdRegistryTest, AWatchHasTheNumberThatItsAnswerGives) {
  // As etcd's proxy, which numbers from 0.
  int64_t next = 0;
  const OddEtcd odd(Nothing, [&](const std::string& key) {
    const int64_t id = next++;
    return std::vector{WatchAnswer(id, true), WatchAnswer(id, false, key + "x"),
                       WatchAnswer(id, false, "/wavetune/elsewhere"),
                       WatchAnswer(id, false, "elsewhere"),
                       WatchAnswer(17, false, key + "nobody's")};
  });
  const auto node = Join(odd.url());
  FleetFollower heads(node.get(), "heads/");
  FleetFollower orders(node.get(), "orders/");
  EXPECT_TRUE(heads.Sees({{"heads/x", "x"}}));
  EXPECT_TRUE(orders.Sees({{"orders/x", "x"}}));
}

TEST_F(EtcdRegistryTest, AWatchThatIsAlwaysCompactedIsNotListedWithoutPause) {
  const OddEtcd odd(Nothing, [](const std::string&) {
    etcdserverpb::WatchResponse compacted = WatchAnswer(0, false);
    compacted.set_canceled(true);
    compacted.set_compact_revision(10);
    return std::vector{WatchAnswer(0, true), compacted};
  });
  const auto node = Join(odd.url());
  const auto began = steady_clock::now();
  FleetFollower follower(node.get(), "heads/");
  while (odd.listings() < 4)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(steady_clock::now() - began, std::chrono::milliseconds(200));
}

TEST_F(EtcdRegistryTest, KeysThatWereNotAskedForAreDropped) {
  const OddEtcd odd([](const etcdserverpb::RangeRequest& request) {
    etcdserverpb::RangeResponse response = Nothing(request);
    for (const char* const key : {"/wavetune/heads/a", "", "x", "/wavetune/",
                                  "/wavetune/orders/b", "heads/c"}) {
      etcdserverpb::KeyValue& kv = *response.add_kvs();
      kv.set_key(key);
      kv.set_mod_revision(-5);
    }
    return response;
  });
  const auto node = Join(odd.url());
  const auto listing = node->List("heads/");
  ASSERT_TRUE(listing.ok()) << listing.status();
  ASSERT_EQ(listing->entries.size(), 1u);
  EXPECT_EQ(listing->entries[0].key, "heads/a");
}

TEST_F(EtcdRegistryTest, AListingEndsWhateverEtcdSays) {
  // No more entries, the same ones, and larger ones than an answer may have.
  for (const size_t bytes : std::vector<size_t>{0, 1, 8 << 20}) {
    const OddEtcd odd([&](const etcdserverpb::RangeRequest& request) {
      etcdserverpb::RangeResponse response = Nothing(request);
      response.set_more(true);
      if (bytes > 0) {
        etcdserverpb::KeyValue& kv = *response.add_kvs();
        kv.set_key("/wavetune/heads/a");
        kv.set_value(std::string(bytes, 'x'));
      }
      return response;
    });
    const absl::Status endless = Join(odd.url())->List("heads/").status();
    EXPECT_TRUE(absl::IsResourceExhausted(endless)) << endless;
  }
}

TEST_F(EtcdRegistryTest, AnAnswerThatWouldTakeMuchMemoryIsNotParsed) {
  // Two bytes each on the wire.
  constexpr int kMany = 300'000;
  const OddEtcd pages([](const etcdserverpb::RangeRequest& request) {
    etcdserverpb::RangeResponse response = Nothing(request);
    if (request.keys_only()) return response;
    for (int i = 0; i < kMany; ++i) response.add_kvs();
    return response;
  });
  const absl::Status listed = Join(pages.url())->List("heads/").status();
  EXPECT_TRUE(absl::IsResourceExhausted(listed)) << listed;
  EXPECT_THAT(std::string(listed.message()),
              HasSubstr("would take more than 24 MiB of memory"));

  const OddEtcd events(Nothing, [](const std::string&) {
    etcdserverpb::WatchResponse many = WatchAnswer(0, false);
    for (int i = 0; i < kMany; ++i) many.add_events();
    return std::vector{WatchAnswer(0, true), many};
  });
  const auto node = Join(events.url());
  FleetFollower follower(node.get(), "heads/");
  // It is listed anew instead.
  while (events.listings() < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(EtcdRegistryTest, AUserIsNeededWhereEtcdAsksForOne) {
  etcd_.Start();
  etcd_.AskForUsers("/wavetune/");
  const absl::Status nobody = Commit(*Join(etcd_.url()), "1");
  EXPECT_TRUE(absl::IsUnauthenticated(nobody)) << nobody;
  EXPECT_THAT(std::string(nobody.message()), HasSubstr("asks for a user"));

  EtcdOptions options = ParseEtcdUrl(etcd_.url()).value();
  options.session_ttl = std::chrono::seconds(3);
  options.user = "node";
  options.password = "wrong";
  const absl::Status wrong = Commit(*EtcdRegistry::Create(options).value(), "");
  EXPECT_TRUE(absl::IsUnauthenticated(wrong)) << wrong;

  options.password = "open";
  const auto node = EtcdRegistry::Create(options).value();
  FleetFollower follower(node.get(), "heads/");
  EXPECT_TRUE(Commit(*node, "1").ok());
  EXPECT_TRUE(follower.Sees({{"heads/a", "1"}}));
  options.prefix = "/others/";
  const absl::Status refused =
      Commit(*EtcdRegistry::Create(options).value(), "1");
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("readwrite"));
}

TEST_F(EtcdRegistryTest, ATokenOfOldRightsIsFetchedAnew) {
  // Tokens of this kind name the revision of the rights.
  const std::string secret = WriteFile("secret", "a secret of etcd's own");
  TestEtcd etcd({"--auth-token=jwt,sign-method=HS256,priv-key=" + secret});
  etcd.Start();
  EtcdOptions options = ParseEtcdUrl(etcd.url()).value();
  options.user = "node";
  options.password = "open";
  const auto node = EtcdRegistry::Create(options).value();
  EXPECT_TRUE(Commit(*node, "0").ok());  // It does not ask yet.
  etcd.AskForUsers("/wavetune/");
  EXPECT_TRUE(Commit(*node, "1").ok());
  etcd.Etcdctl({"--user=root:secret", "role", "grant-permission", "wavetune",
                "--prefix=true", "readwrite", "/more/"});
  std::vector<std::future<absl::Status>> calls;
  calls.reserve(4);
  for (int i = 0; i < 4; ++i) {
    calls.push_back(std::async(std::launch::async,
                               [&] { return node->Get("heads/a").status(); }));
  }
  for (auto& call : calls) {
    const absl::Status status = call.get();
    EXPECT_TRUE(status.ok()) << status;
  }
  FleetFollower follower(node.get(), "heads/");
  EXPECT_TRUE(follower.Sees({{"heads/a", "1"}}));
}

TEST_F(EtcdRegistryTest, StopEndsWhatWaitsForASilentEtcd) {
  const OtherServer a;
  const OtherServer b;
  const OtherServer c;
  auto node = JoinPatiently("etcd://" + a.endpoint() + "," + b.endpoint() +
                            "," + c.endpoint());
  EXPECT_FALSE(node->Session().ok());
  const auto watch = node->Watch("heads/", {}, [](const FleetNews& news) {
    ADD_FAILURE() << news.status;
  });
  const auto began = steady_clock::now();
  node->Stop();
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(30));
  ExpectStops(JoinPatiently("etcd://" + a.endpoint() + "," + b.endpoint()));
}

TEST_F(EtcdRegistryTest, StopEndsWhatWaitsForAnAnswer) {
  etcd_.Start();
  FreezingRelay relay(static_cast<uint16_t>(etcd_.port()));
  auto node = JoinPatiently("etcd://" + relay.address());
  EXPECT_TRUE(Commit(*node, "1").ok());
  relay.Freeze();
  ExpectStops(std::move(node));
}

TEST_F(EtcdRegistryTest, AnOrderlyEndEndsTheSession) {
  etcd_.Start();
  auto node = JoinPatiently(etcd_.url());
  const std::vector<FleetWrite> writes = {
      {.key = "nodes/a", .value = "here", .of_session = true}};
  absl::Status bound = node->Commit(writes).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(bound)) << bound;  // Not begun yet.
  for (int i = 0; i < 600 && absl::IsFailedPrecondition(bound); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    bound = node->Commit(writes).status();
  }
  ASSERT_TRUE(bound.ok()) << bound;
  node->Stop();
  EXPECT_TRUE(Join(etcd_.url())->Get("nodes/a").ok());
  node.reset();
  EXPECT_TRUE(absl::IsNotFound(Join(etcd_.url())->Get("nodes/a").status()));
}

TEST_F(EtcdRegistryTest, ANodeThatBindsNothingHasNoLease) {
  etcd_.Start();
  const auto node = Join(etcd_.url());
  FleetFollower follower(node.get(), "heads/");
  EXPECT_TRUE(Commit(*node, "1").ok());
  EXPECT_TRUE(follower.Sees({{"heads/a", "1"}}));
  EXPECT_THAT(etcd_.Etcdctl({"lease", "list"}), HasSubstr("found 0 leases"));
}

TEST_F(EtcdRegistryTest, LongListingsComeInPages) {
  etcd_.Start();
  const auto node = Join(etcd_.url());
  constexpr size_t kEntries = 1100;
  std::vector<FleetWrite> writes;
  for (size_t i = 0; i < kEntries; ++i) {
    writes.push_back(
        {.key = "many/" + std::to_string(10000 + i), .value = "x"});
    if (writes.size() < FleetRegistry::kMaxWrites && i + 1 < kEntries) continue;
    ASSERT_TRUE(node->Commit(writes).ok());
    writes.clear();
  }
  const auto many = node->List("many/");
  ASSERT_TRUE(many.ok()) << many.status();
  ASSERT_EQ(many->entries.size(), kEntries);
  for (size_t i = 0; i < kEntries; ++i)
    EXPECT_EQ(many->entries[i].key, "many/" + std::to_string(10000 + i));

  // More bytes than one answer may have.
  const std::string most(FleetRegistry::kMaxValueBytes, 'x');
  for (int i = 10; i < 30; ++i) {
    ASSERT_TRUE(
        node->Commit({{.key = "large/" + std::to_string(i), .value = most}})
            .ok());
  }
  const auto large = node->List("large/");
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(large->entries.size(), 20u);
}

TEST_F(EtcdRegistryTest, AFullEtcdSaysWhatToDo) {
  TestEtcd etcd({"--quota-backend-bytes=2000000"});
  etcd.Start();
  const auto node = Join(etcd.url());
  const std::string most(FleetRegistry::kMaxValueBytes, 'x');
  absl::Status full;
  for (int i = 0; i < 200 && full.ok(); ++i) full = Commit(*node, most);
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("compact"));
  // As docs/fleet.md has it.
  const auto revision = node->List("heads/")->revision;
  etcd.Etcdctl({"compact", std::to_string(revision)});
  etcd.Etcdctl({"defrag"});
  etcd.Etcdctl({"alarm", "disarm"});
  EXPECT_TRUE(Commit(*node, "1").ok());
}

TEST_F(EtcdRegistryTest, WhatIsNoEtcdIsSaid) {
  const OtherServer web("HTTP/1.1 400 Bad Request\r\n\r\n");
  const absl::Status refused = Commit(*Join("etcd://" + web.endpoint()), "1");
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(web.endpoint()));
}

TEST_F(EtcdRegistryTest, TlsIsAsBothSidesHaveIt) {
  const TestAuthority ours("ours");
  const TestAuthority::Identity identity = ours.Issue({"IP:127.0.0.1"});
  TestEtcd etcd({"--cert-file=" + WriteFile("cert", identity.cert),
                 "--key-file=" + WriteFile("key", identity.key)},
                "https");
  etcd.Start();
  const absl::Status without = Commit(*Join(etcd.url()), "1");
  EXPECT_TRUE(absl::IsUnavailable(without)) << without;
  EXPECT_THAT(std::string(without.message()), HasSubstr("without TLS?"));

  EtcdOptions options = ParseEtcdUrl("etcds://" + etcd.endpoint()).value();
  options.ca = WriteFile("foreign", TestAuthority("foreign").cert());
  const absl::Status foreign =
      Commit(*EtcdRegistry::Create(options).value(), "1");
  EXPECT_TRUE(absl::IsUnavailable(foreign)) << foreign;
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("authority"));

  options.ca = WriteFile("ca", ours.cert());
  const absl::Status with = Commit(*EtcdRegistry::Create(options).value(), "1");
  EXPECT_TRUE(with.ok()) << with;
}

TEST(EtcdOptionsTest, EndpointsAreCheckedAtTheStart) {
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{}, {"a:1", "b"}, {"unix:/run/etcd"}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        EtcdRegistry::Create({.endpoints = bad}).status()));
  }
}

TEST(EtcdOptionsTest, ReadsUrls) {
  const auto options = ParseEtcdUrl("etcds://a:1,[::1]:2379/fleets/one/");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->tls);
  EXPECT_THAT(options->endpoints, ::testing::ElementsAre("a:1", "[::1]:2379"));
  EXPECT_EQ(options->prefix, "/fleets/one/");
  EXPECT_EQ(ParseEtcdUrl("etcd://a:1")->prefix, "/wavetune/");
  for (const char* const bad : {"", "a:1", "http://a:1", "etcd://", "etcd://a",
                                "etcd://a:0", "etcd://a:70000", "etcd://:1",
                                "etcd://a:1,", "etcd://a:1/", "etcd://a:1//"}) {
    const auto refused = ParseEtcdUrl(bad);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << bad;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("'")) << bad;
  }
}

TEST(EtcdOptionsTest, APasswordInAUrlIsRefusedAndNotRepeated) {
  for (const char* const url : {"etcd://me:secret@a:1", "etcds://me:secret@a:1",
                                "me:secret@a", "etcds://a:1,me:secret@b:1/x"}) {
    const absl::Status refused = ParseEtcdUrl(url).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << url;
    EXPECT_THAT(std::string(refused.message()),
                ::testing::AllOf(HasSubstr("--fleet-user"),
                                 ::testing::Not(HasSubstr("secret"))));
  }
}

TEST(EtcdOptionsTest, AnIpv6AddressWithoutBracketsIsToldHowToBeWritten) {
  const absl::Status refused = ParseEtcdUrl("etcd://::1:2379").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("write [::1]:2379"));
}

}  // namespace
}  // namespace wavetune::testing
