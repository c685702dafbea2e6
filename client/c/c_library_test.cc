// libwavetune.so as others see it: what it exports, and a C99 program on it.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/lcg.h"
#include "tests/lib/program.h"
#include "tests/lib/random_table.h"
#include "tests/lib/source_paths.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using ::testing::ElementsAreArray;
using testing::FakeNode;
using ::testing::HasSubstr;
using testing::Lcg;
using testing::Program;
using testing::ReadText;
using testing::Serve;
using testing::TemporaryFolder;

struct Said {
  int exit_code = -1;
  std::string out;
  std::string err;
};

Said RunProgram(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const std::string err = folder.path() + "/err";
  const auto program =
      Program::Start(arguments, {.log_path = err, .out_path = out});
  Said said;
  said.exit_code = program->Wait(std::chrono::seconds(60)).value_or(-1);
  said.out = ReadText(out);
  said.err = ReadText(err);
  return said;
}

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

// Names that wavetune.h declares as functions.
std::set<std::string> DeclaredFunctions() {
  std::string header = ReadText(
      absl::StrCat(WAVETUNE_SOURCE_DIR, "/client/include/wavetune/wavetune.h"));
  static const std::regex kComment(R"(/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)");
  header = std::regex_replace(header, kComment, "");
  static const std::regex kFunction(R"((wavetune_[a-z0-9_]+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator it(header.begin(), header.end(), kFunction), end;
       it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

TEST(CLibraryTest, ExportsWhatTheHeaderDeclaresAndNothingElse) {
  const Said said =
      RunProgram({WAVETUNE_NM, "-D", "--defined-only", WAVETUNE_C_LIBRARY});
  ASSERT_EQ(said.exit_code, 0) << said.err;
  std::vector<std::string> functions;
  for (const std::string& line : Lines(said.out)) {
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    ASSERT_EQ(words.size(), 3u) << line;
    if (words[1] == "A") continue;  // The version's own name.
    EXPECT_EQ(words[1], "T") << line;
    functions.push_back(words[2].substr(0, words[2].find('@')));
  }
  std::sort(functions.begin(), functions.end());
  EXPECT_GT(functions.size(), 20u);
  EXPECT_THAT(functions, ElementsAreArray(DeclaredFunctions()));
}

TEST(CLibraryTest, IsFoundByItsMajorVersion) {
  const std::filesystem::path library(WAVETUNE_C_LIBRARY);
  EXPECT_EQ(library.filename(), "libwavetune.so.1.2");
  for (const char* name : {"libwavetune.so.1", "libwavetune.so"}) {
    EXPECT_EQ(std::filesystem::canonical(library.parent_path() / name),
              std::filesystem::canonical(library));
  }
}

class C99ProgramTest : public ::testing::Test {
 protected:
  Said Ask(const std::string& kernel, const std::string& specialisation,
           const std::vector<Problem>& problems) {
    const std::string path = folder_.path() + "/problems";
    std::ofstream file(path);
    for (const Problem& problem : problems) {
      file << absl::StrJoin(problem.extents, " ");
      // A line without a list takes the plain function.
      if (!problem.repeated.empty())
        file << " : " << absl::StrJoin(problem.repeated, " ");
      file << '\n';
    }
    file.close();
    return RunProgram({absl::StrCat(WAVETUNE_BIN_DIR, "/wavetune_c99_program"),
                       node_.endpoint(), node_.cache_dir(), kernel,
                       specialisation, path});
  }

  Tuner CppTuner(const std::string& kernel, const std::string& specialisation) {
    return Client::Connect(
               {.endpoint = node_.endpoint(), .cache_dir = node_.cache_dir()})
        .value()
        ->GetTuner(kernel, {.specialisation = specialisation})
        .value();
  }

  TemporaryFolder folder_;
  FakeNode node_;
};

std::string Values(const Configuration& configuration) {
  return absl::StrJoin(configuration.values(), ",");
}

// What the program prints, from the C++ client. `origin` as in wavetune.h.
std::vector<std::string> Expected(const Tuner& tuner, int origin,
                                  const std::vector<Problem>& problems) {
  std::vector<std::string> lines = {"kernel " + tuner.kernel(),
                                    "digest " + tuner.digest()};
  for (const std::string& name : tuner.parameters())
    lines.push_back("parameter " + name);
  for (const Dimension& dimension : tuner.dimensions())
    lines.push_back("dimension " + dimension.name);
  for (const Configuration& configuration : tuner.configurations())
    lines.push_back("configuration " + Values(configuration));
  for (const Problem& problem : problems) {
    const Decision d = tuner.Resolve(problem.View());
    lines.push_back(absl::StrFormat(
        "%s %a %a %016x %d %d %d %d", Values(d.configuration), d.latency_us,
        d.relative_bound, d.digest_prefix, static_cast<int>(d.source),
        static_cast<int>(d.reason), d.candidate, origin));
  }
  return lines;
}

TEST_F(C99ProgramTest, AnswersWhatCppAnswers) {
  constexpr int kFromDaemon = 1;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Lcg random(seed);
    Table table = RandomTable(random);
    table.kernel = absl::StrCat("kernel_", seed);
    node_.AddTable(Serve(table));
    const std::string specialisation = table.sub_tables.back().specialisation;
    std::vector<Problem> problems;
    for (int i = 0; i < 100; ++i)
      problems.push_back(RandomProblem(random, table));
    const Said said = Ask(table.kernel, specialisation, problems);
    ASSERT_EQ(said.exit_code, 0) << said.err;
    EXPECT_THAT(Lines(said.out), ElementsAreArray(Expected(
                                     CppTuner(table.kernel, specialisation),
                                     kFromDaemon, problems)));
  }
}

TEST_F(C99ProgramTest, AnswersFromTheCacheWhenTheDaemonIsDown) {
  constexpr int kFromCache = 2;
  node_.AddTable(Serve(testing::TinyTable()));
  const std::vector<Problem> problems = {{.extents = {1000}}};
  ASSERT_EQ(Ask("add", "", problems).exit_code, 0);
  node_.Stop();
  const Said said = Ask("add", "", problems);
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(Lines(said.out), ElementsAreArray(Expected(
                                   CppTuner("add", ""), kFromCache, problems)));
}

TEST_F(C99ProgramTest, SaysWhyThereIsNoTuner) {
  const Said said = Ask("no_such_kernel", "", {});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err, HasSubstr("get_tuner: NOT_FOUND: "));
  EXPECT_THAT(said.err, HasSubstr("no_such_kernel"));
}

}  // namespace
}  // namespace wavetune
