// A C99 program on libwavetune.so, at a real daemon with a table measured here:
// it says what the command line (C++) says.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lib/node_fixture.h"
#include "tests/lib/program.h"

namespace wavetune::testing {
namespace {

struct Shape {
  int64_t n;
  int64_t k;
};
// Measured, between, beyond what was measured, and not legal.
constexpr Shape kShapes[] = {{512, 1024},    {700, 700}, {1, 1},
                             {65536, 65536}, {0, 5},     {5, 65537}};

class CClientTest : public NodeFixture {
 protected:
  void SetUp() override {
    AddKernel("repeats");
    StartDaemon();
    StartAgent();
    if (HasFatalFailure() || IsSkipped()) return;
    const nlohmann::json job = WaitForJob(Reprofile("repeats"));
    ASSERT_EQ(job.value("state", ""), "SUCCEEDED") << job.dump(2);
  }

  // What the C program prints, by lines.
  std::vector<std::string> AskInC() {
    const std::string problems = Path("problems");
    std::ofstream file(problems);
    for (const Shape& shape : kShapes)
      file << shape.n << ' ' << shape.k << '\n';
    file.close();
    const auto program = Program::Start(
        {Binary("wavetune_c99_program"), "unix:" + Path("reader.sock"),
         Path("c_tables"), "repeats", "", problems},
        {.log_path = Path("c.err"), .out_path = Path("c.out")});
    EXPECT_EQ(program->Wait(std::chrono::seconds(60)), 0)
        << ReadText(Path("c.err"));
    std::istringstream text(ReadText(Path("c.out")));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

// Values, latency, bound, digest's prefix, source, reason, candidate, origin.
struct Answer {
  std::string values;
  double latency_us = 0;
  double relative_bound = 0;
  std::string digest_prefix;
  int source = 0;
};

Answer Parse(const std::string& line) {
  std::istringstream words(line);
  Answer answer;
  std::string latency;  // Streams do not read hexadecimal doubles.
  std::string bound;
  words >> answer.values >> latency >> bound >> answer.digest_prefix >>
      answer.source;
  answer.latency_us = std::strtod(latency.c_str(), nullptr);
  answer.relative_bound = std::strtod(bound.c_str(), nullptr);
  return answer;
}

TEST_F(CClientTest, ACProgramSaysWhatTheCommandLineSays) {
  const std::vector<std::string> lines = AskInC();
  ASSERT_GT(lines.size(), std::size(kShapes));
  const size_t first = lines.size() - std::size(kShapes);
  for (size_t i = 0; i < std::size(kShapes); ++i) {
    const CliResult result =
        Cli({"resolve", "repeats", "n=" + std::to_string(kShapes[i].n),
             "k=" + std::to_string(kShapes[i].k), "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json cpp = result.Json();
    const Answer c = Parse(lines[first + i]);
    const nlohmann::json& values = cpp["configuration"];
    EXPECT_EQ(c.values,
              values["BLOCK_N"].dump() + "," + values["REPEAT"].dump())
        << lines[first + i] << cpp.dump(2);
    // JSON prints doubles with as many digits as it takes to read them back.
    EXPECT_EQ(c.latency_us, cpp.value("latency_us", -1.0));
    EXPECT_EQ(c.relative_bound, cpp.value("relative_bound", -1.0));
    EXPECT_EQ(c.digest_prefix, cpp.value("digest", "").substr(0, 16));
    const std::vector<std::string> sources = {"", "FITTED", "EXTRAPOLATED",
                                              "STALE", "DEFAULT"};
    EXPECT_EQ(sources.at(static_cast<size_t>(c.source)),
              cpp.value("source", "?"));
  }
}

}  // namespace
}  // namespace wavetune::testing
