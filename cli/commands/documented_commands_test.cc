// Help texts, and what documents say of commands and files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command_line_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

class DocumentedCommandsTest : public CommandLineFixture {};

// Splits as a shell does, as far as examples need it: words, single quotes.
std::vector<std::string> ShellWords(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false;
  bool in_word = false;
  for (char c : line) {
    if (c == ' ' && !quoted) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'') {
      quoted = !quoted;
    } else {
      words.back() += c;
    }
  }
  return words;
}

TEST_F(DocumentedCommandsTest, EveryExampleParses) {
  const std::vector<std::string> examples = CommandLineExamples();
  EXPECT_GT(examples.size(), 15u);
  for (const std::string& example : examples) {
    std::vector<std::string> words = ShellWords(example);
    ASSERT_EQ(words[0], "wavetune") << example;
    words.erase(words.begin());
    CommandContext context = Context();
    EXPECT_EQ(ParseCommandLine(words, context), kExitOk) << example << "\n"
                                                         << err_.str();
  }
}

TEST_F(DocumentedCommandsTest, EveryCommandExplainsItselfWithAnExample) {
  const std::vector<std::vector<std::string>> commands = {
      {"status"},
      {"devices"},
      {"events"},
      {"kernels", "list"},
      {"kernels", "check"},
      {"kernels", "compile"},
      {"kernels", "export"},
      {"reprofile"},
      {"jobs", "list"},
      {"jobs", "show"},
      {"jobs", "cancel"},
      {"tables", "list"},
      {"tables", "save"},
      {"tables", "show"},
      {"tables", "history"},
      {"tables", "rejected"},
      {"tables", "rollback"},
      {"tables", "pin"},
      {"tables", "unpin"},
      {"resolve"},
      {"explain"},
      {"bench"},
      {"evaluate"},
      {"export"},
      {"completion"}};
  for (std::vector<std::string> command : commands) {
    command.push_back("--help");
    EXPECT_EQ(Run(command), kExitOk);
    EXPECT_THAT(out_.str(), HasSubstr("Example")) << command[0];
    EXPECT_THAT(out_.str(), HasSubstr("--json")) << command[0];
    EXPECT_THAT(out_.str(), HasSubstr("wavetune " + command[0]));
  }
}

TEST_F(DocumentedCommandsTest, TheCommandsOfTheReadmeParse) {
  std::ifstream readme(WAVETUNE_SOURCE_DIR "/README.md");
  int found = 0;
  for (std::string line; std::getline(readme, line);) {
    if (!absl::StartsWith(line, "wavetune ")) continue;
    line = line.substr(0, line.find(" #"));
    std::vector<std::string> words = ShellWords(line);
    words.erase(words.begin());
    CommandContext context = Context();
    EXPECT_EQ(ParseCommandLine(words, context), kExitOk) << line << "\n"
                                                         << err_.str();
    ++found;
  }
  EXPECT_GT(found, 0);
}

// README.md, CONTRIBUTING.md, SECURITY.md and what is below docs/.
std::vector<std::string> Documents() {
  std::vector<std::string> paths = {WAVETUNE_SOURCE_DIR "/README.md",
                                    WAVETUNE_SOURCE_DIR "/CONTRIBUTING.md",
                                    WAVETUNE_SOURCE_DIR "/SECURITY.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           WAVETUNE_SOURCE_DIR "/docs")) {
    if (entry.path().extension() == ".md")
      paths.push_back(entry.path().string());
  }
  return paths;
}

// What stands between backticks, outside of code blocks.
std::vector<std::string> InlineCode(const std::string& path) {
  std::vector<std::string> result;
  std::ifstream file(path);
  bool block = false;
  for (std::string line; std::getline(file, line);) {
    if (absl::StrContains(line, "```")) block = !block;
    if (block || absl::StrContains(line, "```")) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, '`');
    for (size_t i = 1; i + 1 < parts.size(); i += 2) result.push_back(parts[i]);
  }
  return result;
}

// A mention need not be complete, but its command and options must be there.
TEST_F(DocumentedCommandsTest, TheCommandsThatDocumentsMentionExist) {
  int found = 0;
  for (const std::string& document : Documents()) {
    for (const std::string& code : InlineCode(document)) {
      if (!absl::StartsWith(code, "wavetune ")) continue;
      // Its options are the Python package's:
      // client/python/tests/test_export.py.
      if (absl::StartsWith(code, "wavetune export")) continue;
      std::vector<std::string> command;
      std::vector<std::string> flags;
      for (const std::string& word : ShellWords(code)) {
        if (absl::StartsWith(word, "--")) flags.push_back(word);
        if (flags.empty()) command.push_back(word);
      }
      command.erase(command.begin());
      command.push_back("--help");
      EXPECT_EQ(Run(command), kExitOk) << document << ": " << code;
      for (const std::string& flag : flags) {
        EXPECT_TRUE(absl::StrContains(out_.str(), flag + " ") ||
                    absl::StrContains(out_.str(), flag + "\n"))
            << document << ": " << code;
      }
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

TEST_F(DocumentedCommandsTest, TheFilesThatDocumentsNameExist) {
  int found = 0;
  for (const std::string& document : Documents()) {
    for (const std::string& code : InlineCode(document)) {
      // Patterns and commands are not paths, and only those from the root on
      // can be looked up.
      if (code.find_first_of(" *<{$") != std::string::npos) continue;
      const size_t slash = code.find('/');
      if (slash == std::string::npos || slash == 0) continue;
      if (!std::filesystem::is_directory(
              absl::StrCat(WAVETUNE_SOURCE_DIR, "/", code.substr(0, slash))) ||
          absl::StartsWith(code, "build/"))
        continue;
      EXPECT_TRUE(
          std::filesystem::exists(absl::StrCat(WAVETUNE_SOURCE_DIR, "/", code)))
          << document << ": " << code;
      ++found;
    }
  }
  EXPECT_GT(found, 10);
}

// Those of daemon and agent are their options.
TEST_F(DocumentedCommandsTest, TheVariablesThatClientsReadAreListed) {
  namespace fs = std::filesystem;
  const auto read = [](const fs::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string page = read(WAVETUNE_SOURCE_DIR "/docs/variables.md");
  int found = 0;
  for (const char* folder : {"/cli", "/client", "/model"}) {
    for (const auto& entry : fs::recursive_directory_iterator(
             std::string(WAVETUNE_SOURCE_DIR) + folder)) {
      const std::string path = entry.path().string();
      if (absl::StrContains(path.substr(sizeof WAVETUNE_SOURCE_DIR), "test") ||
          (entry.path().extension() != ".cc" &&
           entry.path().extension() != ".py"))
        continue;
      const std::string text = read(path);
      for (size_t at = text.find("\"WAVETUNE_"); at != std::string::npos;
           at = text.find("\"WAVETUNE_", at + 1)) {
        const std::string name =
            text.substr(at + 1, text.find('"', at + 1) - at - 1);
        if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") !=
                std::string::npos ||
            name == "WAVETUNE_CLIENT_OPTIONS_INIT")  // A macro of C.
          continue;
        EXPECT_THAT(page, HasSubstr(absl::StrCat("`", name, "`"))) << path;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 10);
}

TEST_F(DocumentedCommandsTest, TheFilesThatDocumentsLinkToExist) {
  std::vector<std::string> documents = Documents();
  documents.push_back(WAVETUNE_SOURCE_DIR "/CHANGELOG.md");
  int found = 0;
  for (const std::string& document : documents) {
    std::ifstream file(document);
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> parts = absl::StrSplit(line, "](");
      for (size_t i = 1; i < parts.size(); ++i) {
        const std::string target = parts[i].substr(0, parts[i].find(')'));
        const std::string path = target.substr(0, target.find('#'));
        if (path.empty() || absl::StrContains(path, "://")) continue;
        EXPECT_TRUE(std::filesystem::exists(
            std::filesystem::path(document).parent_path() / path))
            << document << ": " << target;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace wavetune::cli
