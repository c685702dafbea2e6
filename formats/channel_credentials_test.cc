#include "formats/channel_credentials.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/lib/freezing_relay.h"
#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TestAuthority;
using Identity = TestAuthority::Identity;

// A server on TCP that wants certificates, and the files of a client.
class ChannelCredentialsTest : public ::testing::Test {
 protected:
  ChannelCredentialsTest() {
    WriteIdentity(authority_.Issue({"URI:spiffe://wavetune/reader"}));
    Write("ca", authority_.cert());
  }
  ~ChannelCredentialsTest() override {
    if (server_ != nullptr) server_->Shutdown();
    if (folder_ != "/tmp") std::filesystem::remove_all(folder_);
  }

  static std::string MakeFolder() {
    char pattern[] = "/tmp/wavetune_tls_XXXXXX";
    const char* const made = ::mkdtemp(pattern);
    EXPECT_NE(made, nullptr);
    return made == nullptr ? "/tmp" : made;
  }
  void Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }
  void WriteIdentity(const Identity& identity) {
    Write("cert", identity.cert);
    Write("key", identity.key);
  }

  // Serves as what `names` say.
  void Serve(const std::vector<std::string>& names) {
    const Identity identity = authority_.Issue(names);
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = authority_.cert();
    options.pem_key_cert_pairs.push_back({identity.key, identity.cert});
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options),
                             &port_);
    builder.RegisterCallbackGenericService(&nothing_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  std::string Target() const { return absl::StrCat("127.0.0.1:", port_); }
  TlsEnvironment Environment() {
    return [this](const char* name) {
      const std::map<std::string, std::string> set = {
          {"WAVETUNE_TLS_CERT", folder_ + "/cert"},
          {"WAVETUNE_TLS_KEY", folder_ + "/key"},
          {"WAVETUNE_TLS_CA", folder_ + "/ca"}};
      return set.at(name);
    };
  }
  // Whether a connection stands within `patience`.
  bool Connects(std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    const auto credentials = CredentialsFor(Target(), Environment());
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    if (!credentials.ok()) return false;
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(Target(), *credentials, own);
    return channel->WaitForConnected(std::chrono::system_clock::now() +
                                     patience);
  }

  const std::string folder_ = MakeFolder();
  const TestAuthority authority_{"an authority"};
  const TestAuthority foreign_{"a foreign one"};
  grpc::CallbackGenericService nothing_;  // Every method is unimplemented.
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

constexpr std::chrono::milliseconds kShort{300};

TEST_F(ChannelCredentialsTest, ShowsTheCertificateAndChecksTheServersName) {
  Serve({"IP:127.0.0.1"});
  EXPECT_TRUE(Connects());
}

TEST_F(ChannelCredentialsTest, BelievesNoServerOfAnotherName) {
  Serve({"DNS:elsewhere.example.org"});
  EXPECT_FALSE(Connects(kShort));
}

TEST_F(ChannelCredentialsTest, BelievesNoServerOfAForeignAuthority) {
  Serve({"IP:127.0.0.1"});
  Write("ca", foreign_.cert());
  EXPECT_FALSE(Connects(kShort));
}

TEST_F(ChannelCredentialsTest, ADaemonThatIsGoneWithoutAWordIsNoticed) {
  Serve({"IP:127.0.0.1"});
  testing::FreezingRelay relay(static_cast<uint16_t>(port_));
  const auto credentials = CredentialsFor(relay.address(), Environment());
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  PrepareForTcp(relay.address(), &arguments, kShort, kShort);
  const auto channel =
      grpc::CreateCustomChannel(relay.address(), *credentials, arguments);
  const auto patience =
      std::chrono::system_clock::now() + std::chrono::seconds(60);
  ASSERT_TRUE(channel->WaitForConnected(patience));
  relay.Freeze();
  grpc::ClientContext context;
  context.set_deadline(patience);
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const grpc::ByteBuffer request;
  const auto call = stub.PrepareUnaryCall(&context, "/x/y", request, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE)
      << status.error_message();
}

TEST_F(ChannelCredentialsTest, AProxyOfTheEnvironmentDoesNotStandBetween) {
  Serve({"IP:127.0.0.1"});
  // Nobody is there.
  ::setenv("http_proxy", "http://127.0.0.1:1", /*overwrite=*/1);
  const auto connects = [this](bool prepared) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (prepared) PrepareForTcp(Target(), &arguments);
    return grpc::CreateCustomChannel(
               Target(), *CredentialsFor(Target(), Environment()), arguments)
        ->WaitForConnected(std::chrono::system_clock::now() +
                           (prepared ? std::chrono::seconds(60) : kShort));
  };
  EXPECT_FALSE(connects(false));
  EXPECT_TRUE(connects(true));
  ::unsetenv("http_proxy");
}

TEST_F(ChannelCredentialsTest, AUnixSocketNeedsNoFiles) {
  const auto credentials =
      CredentialsFor("unix:/run/wavetune/reader.sock",
                     [](const char*) -> std::string { return "/nowhere"; });
  EXPECT_TRUE(credentials.ok()) << credentials.status();
}

TEST_F(ChannelCredentialsTest, SaysWhatIsWrongWithTheFiles) {
  WriteIdentity({.cert = foreign_.Issue({"DNS:a"}).cert,
                 .key = foreign_.Issue({"DNS:a"}).key});
  EXPECT_THAT(
      std::string(CredentialsFor("host:1", Environment()).status().message()),
      HasSubstr("is not the key of"));
}

TEST_F(ChannelCredentialsTest, AdviceNamesTheVariablesOrTheFiles) {
  const auto nothing = [](const char*) { return std::string(); };
  EXPECT_EQ(AdviceForTcp("unix:/x", nothing), "");
  EXPECT_THAT(AdviceForTcp("host:1", nothing), HasSubstr("WAVETUNE_TLS_CERT"));
  EXPECT_THAT(AdviceForTcp("host:1", Environment()),
              AllOf(HasSubstr(folder_ + "/cert"), HasSubstr(folder_ + "/ca")));
}

}  // namespace
}  // namespace wavetune
