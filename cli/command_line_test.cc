// Exit codes and endpoints of the command line.
#include "cli/command_line.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "cli/command_line_fixture.h"
#include "cli/interrupt.h"
#include "cli/lookup.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CommandLineTest : public CommandLineFixture {};

TEST_F(CommandLineTest, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(Run({}), kExitUsage);
  EXPECT_EQ(Run({"nonsense"}), kExitUsage);
  EXPECT_EQ(Run({"jobs"}), kExitUsage);
  EXPECT_EQ(Run({"jobs", "show"}), kExitUsage);
  EXPECT_EQ(Run({"jobs", "show", "x"}), kExitUsage);
  EXPECT_EQ(Run({"reprofile", "--budget", "-1"}), kExitUsage);
  EXPECT_EQ(Run({"reprofile", "--fresh", "--refit-only"}), kExitUsage);
  EXPECT_EQ(Run({"status", "--jsn"}), kExitUsage);
  // Only a daemon that bench starts takes these.
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", "x", "--budget", "9"}),
            kExitUsage);
  EXPECT_EQ(Run({"bench", "gemm_f32", "--shapes", "x", "--kernels-dir", "y"}),
            kExitUsage);
}

TEST_F(CommandLineTest, AnUnknownWordIsNamedWithTheOneThatWasMeant) {
  for (const auto& [arguments, said] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"statu"}, "unknown command \"statu\"; did you mean status?"},
           {{"table", "list"},
            "unknown command \"table\"; did you mean tables"},
           {{"tables", "lst"}, "unknown command \"lst\"; did you mean list?"},
           {{"fleet", "rollout"}, "unknown command \"rollout\"; "},
           {{"kernels", "chek", "x"}, "\"chek\"; did you mean check?"},
           {{"status", "--jsn"},
            "unknown option \"--jsn\"; did you mean --json?"},
           {{"reprofile", "--kernl=x"}, "did you mean --kernel?"},
           {{"devices", "foo"}, "unknown argument \"foo\""},
           {{"help", "statu"}, "\"statu\"; did you mean status?"},
           {{"help", "tables", "lst"}, "\"lst\"; did you mean list?"},
           {{"statu", "--help"}, "\"statu\"; did you mean status?"}}) {
    EXPECT_EQ(Run(arguments), kExitUsage) << arguments[0];
    EXPECT_THAT(err_.str(), HasSubstr(said));
    EXPECT_THAT(err_.str(), HasSubstr("\n  wavetune help"));
    EXPECT_THAT(err_.str(), Not(HasSubstr("is required")));
  }
}

TEST_F(CommandLineTest, WhatIsMissingIsSaidAsWhatIsUnknown) {
  EXPECT_EQ(Run({"jobs", "show"}), kExitUsage);
  EXPECT_EQ(err_.str(),
            "wavetune: ID is required\n  wavetune help jobs show says more\n");
  EXPECT_EQ(Run({}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("\n  wavetune help says more"));
}

TEST_F(CommandLineTest, WithJsonAnErrorIsOneObject) {
  const auto error = [this] { return Json::parse(err_.str())["error"]; };
  EXPECT_EQ(Run({"jobs", "show", "7", "--json"}), kExitFailed);
  EXPECT_EQ(out_.str(), "") << "which holds results";
  EXPECT_THAT(err_.str(), ::testing::EndsWith("}\n"));
  EXPECT_EQ(err_.str().find('\n'), err_.str().size() - 1) << "a line";
  EXPECT_EQ(error()["code"], "NOT_FOUND");
  EXPECT_THAT(error()["message"].get<std::string>(), HasSubstr("no job 7"));
  EXPECT_EQ(error()["exit_code"], kExitFailed);
  EXPECT_FALSE(error().contains("advice"));
  // Also where the command line itself is wrong, wherever --json stands.
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"--json", "statu"},
                                             {"statu", "--json"}}) {
    EXPECT_EQ(Run(command), kExitUsage);
    EXPECT_EQ(error()["code"], "INVALID_ARGUMENT");
    EXPECT_EQ(error()["message"],
              "unknown command \"statu\"; did you mean status?");
    EXPECT_EQ(error()["advice"], "wavetune help says more");
  }
  daemon_->error = absl::UnavailableError("a\x1b[31m\nforged");
  EXPECT_EQ(Run({"--json", "status"}), kExitUnreachable);
  EXPECT_EQ(error()["message"], "a\x1b[31m\nforged");
  EXPECT_EQ(error()["exit_code"], kExitUnreachable);
}

TEST_F(CommandLineTest, HelpIsInGroupsAndAsWideAsItIsTold) {
  const auto help = [this](std::vector<std::string> command, size_t width) {
    CommandContext context = Context();
    context.width = width;
    EXPECT_EQ(RunCommandLine(command, context), kExitOk);
    return out_.str();
  };
  const std::string root = help({"--help"}, 100);
  size_t last = 0;
  for (const char* heading : {"\nNode:\n", "\nKernels:\n", "\nProfile:\n",
                              "\nTables:\n", "\nDecide:\n", "\nFleet:\n"}) {
    const size_t at = root.find(heading);
    ASSERT_NE(at, std::string::npos) << heading;
    EXPECT_GT(at, last) << heading;
    last = at;
  }
  EXPECT_THAT(help({"tables", "--help"}, 100), HasSubstr("\nCommands:\n"));
  for (const size_t width : {60, 80, 100}) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{
             {"--help"}, {"bench", "--help"}, {"reprofile", "--help"}}) {
      const std::string text = help(command, width);
      // What follows is copied, not read.
      const std::string read = text.substr(0, text.find("Example"));
      for (const absl::string_view line : absl::StrSplit(read, '\n')) {
        if (absl::StartsWith(line, "Exit codes")) break;
        EXPECT_LE(line.size(), width) << line;
      }
    }
  }
  // Nothing is lost.
  const auto words = [](const std::string& text) {
    return std::vector<std::string>(
        absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()));
  };
  EXPECT_EQ(words(help({"bench", "--help"}, 60)),
            words(help({"bench", "--help"}, 1000)));
}

// Returns the words that a shell offers.
std::vector<std::string> Offered(const std::string& lines) {
  std::vector<std::string> words;
  for (const absl::string_view line :
       absl::StrSplit(lines, '\n', absl::SkipEmpty()))
    words.emplace_back(line.substr(0, line.find('\t')));
  return words;
}

TEST_F(CommandLineTest, ShellsAreToldWhatMayFollow) {
  using ::testing::Contains;
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const auto offered = [this](std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    EXPECT_EQ(Run(words), kExitOk);
    EXPECT_EQ(err_.str(), "");
    return Offered(out_.str());
  };
  for (const char* name : {"gemm_bf16", "gemm_f32", "rms_norm"})
    daemon_->kernels.add_kernels()->mutable_spec()->set_name(name);
  EXPECT_THAT(offered({}), Contains("status"));
  EXPECT_THAT(offered({"sta"}), ElementsAre("status"));
  EXPECT_THAT(out_.str(), HasSubstr("status\tShows the daemon"));
  EXPECT_THAT(offered({"help", "sta"}), ElementsAre("status"));
  EXPECT_THAT(offered({"jobs", ""}), ElementsAre("list", "show", "cancel"));
  EXPECT_THAT(offered({"--json", "jobs", "c"}), ElementsAre("cancel"));
  // What an option is given is no command.
  EXPECT_THAT(offered({"--endpoint", "jobs", "stat"}), ElementsAre("status"));
  EXPECT_THAT(offered({"status", "--f"}), ElementsAre("--fail-stale"));
  EXPECT_THAT(offered({"jobs", "show", "7", "--w"}), ElementsAre("--wait"));
  EXPECT_THAT(offered({"resolve", "gemm"}),
              ElementsAre("gemm_bf16", "gemm_f32"));
  EXPECT_THAT(offered({"resolve", "gemm_f32", ""}), IsEmpty());
  EXPECT_THAT(offered({"reprofile", "--kernel", "r"}), ElementsAre("rms_norm"));
  // As bash splits --kernel=r.
  EXPECT_THAT(offered({"reprofile", "--kernel", "=", "r"}),
              ElementsAre("rms_norm"));
  EXPECT_THAT(offered({"reprofile", "--kernel", "="}),
              ElementsAre("gemm_bf16", "gemm_f32", "rms_norm"));
  // A file; and what makes no sense.
  EXPECT_THAT(offered({"bench", "gemm_f32", "--shapes", ""}), IsEmpty());
  EXPECT_THAT(offered({"nonsense", "--nonsense", "x"}), IsEmpty());
  // Nobody tells the names of kernels.
  daemon_->error = absl::UnavailableError("down");
  EXPECT_THAT(offered({"resolve", ""}), IsEmpty());
}

TEST_F(CommandLineTest, CompletionIsPrintedForTheShellsThatAreKnown) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(Run({"completion", shell}), kExitOk);
    EXPECT_THAT(out_.str(), HasSubstr("__complete"));
  }
  EXPECT_EQ(Run({"completion", "bash", "--json"}), kExitOk);
  EXPECT_THAT(Output()["script"].get<std::string>(), HasSubstr("complete -o"));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"completion"},
                                             {"completion", "tcsh"}}) {
    EXPECT_EQ(Run(wrong), kExitUsage);
    EXPECT_THAT(err_.str(), HasSubstr("wavetune help completion says more"));
  }
}

TEST_F(CommandLineTest, WhatCtrlCEndsExitsAsShellsHaveIt) {
  daemon_->error = absl::CancelledError("detached");
  EXPECT_EXIT(
      {
        CatchInterrupts();
        raise(SIGINT);
        _exit(Run({"status"}));
      },
      ::testing::ExitedWithCode(130), "");
}

TEST_F(CommandLineTest, HelpAndVersionAreCommandsToo) {
  EXPECT_EQ(Run({"help", "tables", "list"}), kExitOk);
  const std::string help = out_.str();
  EXPECT_THAT(help, HasSubstr("wavetune tables list"));
  EXPECT_EQ(Run({"tables", "list", "--help"}), kExitOk);
  EXPECT_EQ(out_.str(), help);
  EXPECT_EQ(Run({"help", "help"}), kExitOk);
  EXPECT_EQ(Run({"help"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("COMMAND"));
  EXPECT_EQ(Run({"version"}), kExitOk);
  const std::string version = out_.str();
  EXPECT_EQ(Run({"--version"}), kExitOk);
  EXPECT_EQ(out_.str(), version);
}

TEST_F(CommandLineTest, AnUnreachableDaemonIsExitCodeThree) {
  daemon_->error = absl::UnavailableError("cannot reach wavetuned at unix:/x");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"devices"},
                                             {"kernels", "list"},
                                             {"jobs", "list"},
                                             {"tables", "list"},
                                             {"reprofile", "--all"}}) {
    EXPECT_EQ(Run(command), kExitUnreachable) << command[0];
    EXPECT_THAT(err_.str(), HasSubstr("cannot reach wavetuned"));
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(CommandLineTest, OtherErrorsAreExitCodeOne) {
  EXPECT_EQ(Run({"jobs", "show", "7"}), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("no job 7"));
}

TEST_F(CommandLineTest, ResultsIntoAFullDiskAreExitCodeOne) {
  std::ofstream full("/dev/full");
  if (!full.is_open()) GTEST_SKIP() << "no /dev/full";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"status"}, {"jobs", "list", "--json"}, {"--help"}}) {
    full.clear();
    CommandContext context = Context();
    cli::Output output(&full);
    context.out = &output;
    EXPECT_EQ(RunCommandLine(command, context), kExitFailed) << command[0];
    EXPECT_THAT(err_.str(), HasSubstr("the output could not be written"));
  }
}

// Comparisons let not-a-number through.
TEST_F(CommandLineTest, NumbersThatAreNoneAreWrongUsage) {
  for (const std::string number : {"nan", "inf", "1e300", "-1", "x"}) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{
             {"reprofile", "--budget"},
             {"reprofile", "--samples-per-candidate"},
             {"reprofile", "--portfolio"},
             {"jobs", "list", "--limit"},
             {"kernels", "compile", "x", "--sample"},
             {"bench", "x", "--shapes", "y", "--leaders"},
             {"bench", "x", "--shapes", "y", "--rounds"},
             {"evaluate", "--trace", "x", "--portfolio"}}) {
      std::vector<std::string> arguments = command;
      arguments.back() += "=" + number;
      EXPECT_EQ(Run(arguments), kExitUsage) << arguments.back();
      EXPECT_THAT(err_.str(), HasSubstr("give ")) << arguments.back();
    }
  }
}

TEST_F(CommandLineTest, TakesTheEndpointBeforeOrAfterTheCommand) {
  Run({"status", "--endpoint", "/a/reader.sock"});
  EXPECT_EQ(endpoint_, "unix:/a/reader.sock");
  Run({"--endpoint", "/b/reader.sock", "status"});
  EXPECT_EQ(endpoint_, "unix:/b/reader.sock");
  setenv("WAVETUNE_ENDPOINT", "/c/reader.sock", 1);
  Run({"status"});
  unsetenv("WAVETUNE_ENDPOINT");
  EXPECT_EQ(endpoint_, "unix:/c/reader.sock");
}

// What a node of the fleet, an agent or a user may have written.
constexpr char kForged[] = "a\x1b[31m\nforged\xc2\x9b";

// Writes kForged into every text of `message`, and one element into each list.
void Forge(google::protobuf::Message* message, int depth = 0) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection* const reflection =
      message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message->GetDescriptor()->field(i);
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      if (field->is_repeated()) {
        reflection->AddString(message, field, kForged);
      } else if (!field->real_containing_oneof()) {
        reflection->SetString(message, field, kForged);
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32 &&
               field->is_repeated()) {
      reflection->AddInt32(message, field, 1);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
               !field->is_map() && depth < 4 &&
               !field->real_containing_oneof()) {
      Forge(field->is_repeated() ? reflection->AddMessage(message, field)
                                 : reflection->MutableMessage(message, field),
            depth + 1);
    }
  }
}

TEST_F(CommandLineTest, NobodyWritesToTheScreenOfWhoeverLooks) {
  for (google::protobuf::Message* const message :
       std::vector<google::protobuf::Message*>{
           &daemon_->status, &daemon_->devices, &daemon_->kernels,
           &daemon_->tables, &daemon_->fleet, &*daemon_->fleet_nodes,
           &daemon_->history, &daemon_->rejected, &daemon_->events,
           &daemon_->usage, &daemon_->jobs.emplace_back(),
           &daemon_->workloads.emplace_back(), &daemon_->published,
           &daemon_->rolled_back, &daemon_->pinned, &daemon_->retired}) {
    Forge(message);
  }
  const std::string id = std::to_string(daemon_->jobs[0].id());
  const std::string digest(64, 'a');
  for (std::vector<std::string> command : std::vector<std::vector<std::string>>{
           {"status"},
           {"devices"},
           {"doctor"},
           {"events"},
           {"jobs", "list"},
           {"jobs", "show", id},
           {"kernels", "list"},
           {"tables", "list"},
           {"tables", "history", "x"},
           {"tables", "rejected", "x"},
           {"tables", "rollback", "x"},
           {"tables", "pin", digest},
           {"tables", "retire", digest},
           {"fleet", "status"},
           {"fleet", "nodes"},
           {"fleet", "publish", "x"},
           {"workload", "list"},
           {"workload", "show", kForged},
           {"reprofile", "--all"},
       }) {
    for (const bool json : {false, true}) {
      if (json) command.push_back("--json");
      Run(command);
      for (const std::string& text : {out_.str(), err_.str()}) {
        EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << command[0];
        EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b"))) << command[0];
        EXPECT_THAT(text, Not(HasSubstr("\nforged"))) << command[0];
      }
      EXPECT_THAT(out_.str() + err_.str(), HasSubstr("forged")) << command[0];
    }
  }
}

TEST_F(CommandLineTest, OneDigestInTwoEnvironmentsIsOneTable) {
  v1::GetTableResponse& one = daemon_->payloads.emplace_back();
  one.set_payload("payload");
  one.mutable_info()->set_digest(Sha256Hex("payload"));
  for (const char* driver : {"driver=580", "driver=590"}) {
    v1::TableInfo& info = *daemon_->tables.add_tables();
    info.set_digest(one.info().digest());
    info.set_environment_key(driver);
  }
  const TableQuestion question{.table = one.info().digest().substr(0, 16)};
  EXPECT_TRUE(FindTable(*daemon_, question).ok());
  daemon_->tables.add_tables()->set_digest(question.table + "another");
  EXPECT_THAT(std::string(FindTable(*daemon_, question).status().message()),
              HasSubstr("several tables begin with"));
}

}  // namespace
}  // namespace wavetune::cli
