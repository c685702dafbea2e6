// wavetune resolve and explain, through the client library.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/command_line_fixture.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

class ResolveCommandTest : public CommandLineFixture {
 protected:
  ResolveCommandTest() {
    setenv("WAVETUNE_CACHE_DIR", node_.cache_dir().c_str(), 1);
    node_.AddTable(
        wavetune::testing::Serve(wavetune::testing::TwoGroupTable()));
  }
  ~ResolveCommandTest() override { unsetenv("WAVETUNE_CACHE_DIR"); }

  int Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--endpoint", node_.endpoint()});
    return Run(arguments);
  }

  wavetune::testing::FakeNode node_;
};

TEST_F(ResolveCommandTest, PrintsTheDecisionOnOneLine) {
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("10.00 us +- 12.5%  FITTED"));
  const std::string text = out_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64", "--json"}),
            kExitOk);
  EXPECT_EQ(Output()["source"], "FITTED");
  EXPECT_EQ(Output()["problem"]["m"], 64);
}

TEST_F(ResolveCommandTest, AnIllegalProblemGetsTheDefaultAndExitCodeTwo) {
  EXPECT_EQ(Ask({"resolve", "gemm", "m=0", "k=64", "q=1"}), kExitUsage);
  EXPECT_THAT(out_.str(), HasSubstr("DEFAULT"));
  EXPECT_THAT(err_.str(), HasSubstr("\"m\": \"0\" is zero"));
  EXPECT_THAT(err_.str(), HasSubstr("\"n\" is missing"));
  EXPECT_THAT(err_.str(), HasSubstr("unknown dimension \"q\""));
  EXPECT_EQ(Ask({"resolve", "gemm", "m=1", "n=1", "k=-1", "--json"}),
            kExitUsage);
  EXPECT_EQ(Output()["source"], "DEFAULT");
  EXPECT_EQ(Output()["reason"], "EXTENT_OUT_OF_RANGE");
  EXPECT_EQ(Output()["faults"].size(), 1u);
  EXPECT_EQ(Ask({"resolve", "gemm", "m=1", "n=1", "--json"}), kExitUsage);
  EXPECT_EQ(Output()["reason"], "WRONG_DIMENSION_COUNT");
}

TEST_F(ResolveCommandTest, ASpecialisationIsAnOptionOrAPartOfTheProblem) {
  for (const char* command : {"resolve", "explain"}) {
    for (const std::vector<std::string>& form :
         std::vector<std::vector<std::string>>{
             {"specialisation=causal"}, {"--specialisation", "causal"}}) {
      std::vector<std::string> words = {command, "gemm", "m=64", "n=64",
                                        "k=64"};
      words.insert(words.end(), form.begin(), form.end());
      EXPECT_EQ(Ask(words), kExitFailed);
      EXPECT_THAT(err_.str(), HasSubstr("has no specialisation \"causal\""));
    }
    EXPECT_EQ(Ask({command, "gemm", "m=64", "n=64", "k=64", "specialisation=a",
                   "--specialisation", "a"}),
              kExitUsage);
    EXPECT_THAT(err_.str(), HasSubstr("\"specialisation\" is given twice"));
  }
}

TEST_F(ResolveCommandTest, AnUnreachableDaemonIsExitCodeThreeUnlessCached) {
  ASSERT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64"}), kExitOk);
  node_.Stop();
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("from the local cache"));
  EXPECT_EQ(Ask({"resolve", "other", "m=64", "n=64", "k=64"}),
            kExitUnreachable);
}

TEST_F(ResolveCommandTest, SaysWhatMakesATableStaleAndFailsWhereAsked) {
  const std::string digest =
      wavetune::testing::Serve(wavetune::testing::TwoGroupTable())
          .info.digest();
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64", "--fail-stale"}),
            kExitOk);
  const std::string why = "driver \"1\", now \"2\"";
  node_.Remark(digest, why);
  EXPECT_EQ(Ask({"resolve", "gemm", "m=64", "n=64", "k=64"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("STALE (" + why));
  for (const char* command : {"resolve", "explain"}) {
    EXPECT_EQ(Ask({command, "gemm", "m=64", "n=64", "k=64", "--json",
                   "--fail-stale"}),
              kExitStale)
        << command;
    EXPECT_EQ(Output()["stale_reason"], why) << "the answer comes all the same";
    EXPECT_THAT(Json::parse(err_.str())["error"]["message"].get<std::string>(),
                HasSubstr(why));
  }
}

TEST_F(ResolveCommandTest, ExplainShowsEveryRowAndWhyTheWinnerWon) {
  EXPECT_EQ(Ask({"explain", "gemm", "m=64", "n=128", "k=64"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("why"));
  EXPECT_THAT(out_.str(), HasSubstr("->"));
  EXPECT_EQ(Ask({"explain", "gemm", "m=64", "n=128", "k=64", "--json"}),
            kExitOk);
  const Json json = Output();
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["chosen"], true);
  EXPECT_EQ(json["rows"][0]["tiles"], 2);
  EXPECT_EQ(Ask({"explain", "gemm", "m=64"}), kExitUsage);
}

TEST_F(ResolveCommandTest, ExplainSaysWhyTheDefaultWasKept) {
  Table table = wavetune::testing::TwoGroupTable();
  table.kernel = "noisy";
  table.default_configuration = {128, 2};
  table.sub_tables[0].wary = true;
  node_.AddTable(wavetune::testing::Serve(table));
  EXPECT_EQ(Ask({"explain", "noisy", "m=64", "n=64", "k=65536"}), kExitOk)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("default kept"));
  EXPECT_THAT(out_.str(),
              HasSubstr("it is the default: beyond what was measured"));
  EXPECT_EQ(Ask({"explain", "noisy", "m=64", "n=64", "k=64"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("it has the lowest prediction"));
}

}  // namespace
}  // namespace wavetune::cli
