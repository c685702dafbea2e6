// Workloads that clients declare.
#include <memory>
#include <string>

#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ClientWorkloadTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect(ClientOptions options = {}) {
    options.endpoint = node_.endpoint();
    options.cache_dir = node_.cache_dir();
    options.watch = false;
    options.timeout_s = 30;
    return Client::Connect(options).value();
  }

  testing::FakeNode node_;
};

TEST_F(ClientWorkloadTest, AProcessDeclaresTheModelThatItServes) {
  const auto client = Connect();
  const DeclaredWorkload declared =
      client
          ->AddWorkload("llama", "{\"hidden_size\": 64}",
                        {.tensor_parallel = 2,
                         .max_tokens = 8192,
                         .routing = {.counts = {3, 5}}})
          .value();
  EXPECT_EQ(declared.architecture, "LlamaForCausalLM");
  EXPECT_FALSE(declared.unchanged);
  EXPECT_THAT(declared.problems, ElementsAre(Pair("add", 60)));
  // The fake daemon answers as those of before there were routings.
  EXPECT_THAT(declared.notes,
              ElementsAre("a note", HasSubstr("older than routings")));
  EXPECT_TRUE(client->AddWorkload("llama", "{}")->unchanged);
  const auto requests = node_.workload_requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].name(), "llama");
  EXPECT_EQ(requests[0].config(), "{\"hidden_size\":64}");
  EXPECT_EQ(requests[0].tensor_parallel(), 2);
  EXPECT_EQ(requests[0].expert_parallel(), 1);
  EXPECT_EQ(requests[0].max_tokens(), 8192);
  EXPECT_THAT(requests[0].routing().counts(), ElementsAre(3, 5));
  EXPECT_EQ(requests[1].routing().popularity(), v1::ExpertRouting::DRAWN);
}

// A file in any encoding: the daemon says what is wrong with it.
TEST_F(ClientWorkloadTest, BytesThatAreNoTextReachTheDaemon) {
  EXPECT_TRUE(Connect()->AddWorkload("a\xff", "{\xff}").ok());
  EXPECT_EQ(node_.workload_requests()[0].config(), "{\xff}");
  EXPECT_EQ(node_.workload_requests()[0].name(), "a\\xff");
}

TEST_F(ClientWorkloadTest, TheDaemonsRefusalIsTheClients) {
  node_.RefuseWorkloads(absl::InvalidArgumentError("it lacks hidden_size"));
  const auto declared = Connect()->AddWorkload("llama", "{}");
  EXPECT_EQ(declared.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(declared.status().message()),
              HasSubstr("it lacks hidden_size"));
}

TEST_F(ClientWorkloadTest, AnOlderDaemonIsToBeUpgraded) {
  node_.RefuseWorkloads(absl::UnimplementedError(""));
  const auto declared = Connect()->AddWorkload("llama", "{}");
  EXPECT_EQ(declared.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(declared.status().message()),
              HasSubstr("is older than this client and knows no workloads: "
                        "upgrade wavetuned"));
}

TEST_F(ClientWorkloadTest, WithoutADaemonThereIsNobodyToDeclareTo) {
  const auto declared =
      Connect({.mode = ClientMode::kOffline})->AddWorkload("llama", "{}");
  EXPECT_EQ(declared.status().code(), absl::StatusCode::kFailedPrecondition);
  node_.Stop();
  EXPECT_EQ(Connect()->AddWorkload("llama", "{}").status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace wavetune
