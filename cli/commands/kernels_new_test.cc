// wavetune kernels new.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "cli/command_line_fixture.h"
#include "cli/commands/kernel_template.h"
#include "cli/shapes_file.h"
#include "client/src/fake_node.h"
#include "formats/kernel_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class KernelsNewTest : public CommandLineFixture {
 protected:
  int New(const std::string& name, const std::string& like,
          const std::string& backend = "opencl") {
    return Run({"kernels", "new", name, "--like", like, "--backend", backend,
                "--dir", folder_.path()});
  }
  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }

  wavetune::testing::TemporaryFolder folder_;
};

TEST_F(KernelsNewTest, EveryTemplateIsAValidKernelOfItsNewName) {
  struct Source {
    std::string ending;
    std::string before;  // The function's name.
  };
  const std::map<std::string, Source> sources = {
      {"opencl", {".cl", "__kernel void "}},
      {"cuda", {".cu", "    "}},
      {"triton", {".py", "def "}}};
  ASSERT_EQ(TemplateNames().size(), 6u);
  for (const std::string& like : TemplateNames()) {
    for (const std::string& backend : TemplateBackends(like)) {
      SCOPED_TRACE(like + " for " + backend);
      const std::string name = "my_" + like + "_" + backend;
      ASSERT_EQ(New(name, like, backend), kExitOk) << err_.str();
      EXPECT_THAT(out_.str(), HasSubstr("next: wavetune kernels check "));
      EXPECT_EQ(Run({"kernels", "check", Path(name), "--json"}), kExitOk)
          << out_.str();
      const Json kernel = Output()["kernels"][0];
      EXPECT_EQ(kernel["name"], name);
      EXPECT_EQ(kernel["backends"], Json::array({backend}));
      EXPECT_TRUE(kernel["remarks"].empty()) << kernel["remarks"];
      const Source& source = sources.at(backend);
      EXPECT_THAT(ReadAll(Path(name) + "/" + name + source.ending),
                  HasSubstr(source.before + name + "("));
      EXPECT_THAT(ReadAll(Path(name) + "/README.md"),
                  HasSubstr("--like " + like + " --backend " + backend));
    }
  }
}

TEST_F(KernelsNewTest, ShapesAreProblemsThatTheManifestDoesNotName) {
  for (const std::string& like : TemplateNames()) {
    SCOPED_TRACE(like);
    // CUDA's and Triton's are the same.
    ASSERT_EQ(New("mine", like, TemplateBackends(like).back()), kExitOk)
        << err_.str();
    const auto kernel = LoadKernelFolder(Path("mine"));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const auto shapes =
        ParseShapes(kernel->spec, ReadAll(Path("mine") + "/shapes.csv"));
    ASSERT_TRUE(shapes.ok()) << shapes.status();
    EXPECT_GE(shapes->size(), 8u);
    for (const Shape& shape : *shapes) {
      for (const WeightedProblem& named : kernel->spec.representative_problems)
        EXPECT_FALSE(named.problem.extents == shape.problem.extents &&
                     named.problem.repeated == shape.problem.repeated)
            << shape.label;
    }
    fs::remove_all(Path("mine"));
  }
}

TEST_F(KernelsNewTest, NothingOfTheTemplatesNameIsLeft) {
  for (const std::string& backend : TemplateBackends("row")) {
    const std::string name = "softmax_" + backend;
    ASSERT_EQ(New(name, "row", backend), kExitOk) << err_.str();
    for (const fs::directory_entry& file : fs::directory_iterator(Path(name)))
      EXPECT_THAT(ReadAll(file.path()), Not(HasSubstr("rms_norm")))
          << file.path();
  }
}

TEST_F(KernelsNewTest, ATemplateThatABackendLacksNamesWhichHaveIt) {
  EXPECT_EQ(New("mine", "conv", "cuda"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("there is no template \"conv\" for cuda; "
                                    "there is one for opencl, triton"));
  EXPECT_EQ(New("mine", "row", "hip"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("for hip; there is one for opencl, cuda, "
                                    "triton"));
}

TEST_F(KernelsNewTest, SaysWhatToBeginWith) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{},
        {"--like", "row", "--from", "module:function"}}) {
    std::vector<std::string> arguments = {"kernels", "new", "mine"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(Run(arguments), kExitUsage);
    EXPECT_THAT(err_.str(), HasSubstr("--like TEMPLATE, or --from"));
  }
}

// What Python reads of a function: tests/triton/test_templates.py.
TEST_F(KernelsNewTest, WritesWhatPythonReadsOfAFunctionAndCheckNamesEachGap) {
  const std::string python = Path("python");
  std::ofstream(python) << R"(#!/bin/sh
echo printed
echo 'mine.py imports torch' >&2
[ "$3 $4" = "module:scale mine" ] || exit 2
cat > "$5" <<'end'
{"README.md": "# mine\n", "mine.py": "", "reference.cu": "",
 "manifest.textproto": "name: \"mine\"\ndimensions: \"n <= 64\"\nparameters: \"BLOCK in {64} default 64\"\nmapping {\n  tiles: \"TODO\"\n}\nimplementations { backend: \"triton\" sources: \"mine.py\" entry: \"scale\" }\narguments: \"in x[TODO] TODO\"\n"}
end
)";
  fs::permissions(python, fs::perms::owner_all);
  const auto from = [&](const std::string& place) {
    return Run({"kernels", "new", "mine", "--from", place, "--python", python,
                "--dir", folder_.path()});
  };
  EXPECT_EQ(from("module:other"), kExitUsage);
  EXPECT_EQ(err_.str(), "wavetune: mine.py imports torch\n");
  EXPECT_EQ(Run({"kernels", "new", "mine", "--from", "module:other", "--python",
                 python, "--json"}),
            kExitUsage);
  EXPECT_EQ(Json::parse(err_.str())["error"]["message"],
            "mine.py imports torch");
  ASSERT_EQ(from("module:scale"), kExitOk) << err_.str();
  EXPECT_EQ(err_.str(), "mine.py imports torch\n");
  EXPECT_THAT(out_.str(), Not(HasSubstr("printed")));
  fs::remove_all(Path("mine"));
  ASSERT_EQ(Run({"-q", "kernels", "new", "mine", "--from", "module:scale",
                 "--python", python, "--dir", folder_.path()}),
            kExitOk);
  EXPECT_EQ(err_.str(), "");
  EXPECT_THAT(ReadAll(Path("mine/README.md")),
              HasSubstr("wavetune kernels compile mine --arch sm_90a"));
  EXPECT_EQ(Run({"kernels", "check", Path("mine")}), kExitFailed);
  for (const char* gap :
       {"mapping.tiles, line 5, column", "arguments[0], line"})
    EXPECT_THAT(out_.str() + err_.str(), HasSubstr(gap));
  EXPECT_EQ(Run({"kernels", "new", "mine", "--from", "module:scale", "--python",
                 Path("none"), "--dir", folder_.path()}),
            kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--python or WAVETUNE_PYTHON"));
}

TEST_F(KernelsNewTest, RefusesWhatExists) {
  fs::create_directory(Path("softmax"));
  EXPECT_EQ(New("softmax", "row"), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("exists"));
  EXPECT_TRUE(fs::is_empty(Path("softmax")));
  fs::create_symlink("nowhere", Path("dangling"));
  EXPECT_EQ(New("dangling", "row"), kExitFailed);
}

TEST_F(KernelsNewTest, MakesTheFolderOrSaysWhyNot) {
  EXPECT_EQ(Run({"kernels", "new", "norm", "--like", "row", "--dir",
                 Path("my/kernels")}),
            kExitOk)
      << err_.str();
  EXPECT_TRUE(fs::exists(Path("my/kernels/norm/manifest.textproto")));
  EXPECT_EQ(Run({"kernels", "new", "norm", "--like", "row", "--dir",
                 Path("my/kernels/norm/README.md")}),
            kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("cannot be made"));
}

TEST_F(KernelsNewTest, RefusesNamesThatNoKernelCanHave) {
  for (const char* name : {"Softmax", "1d", "", "soft-max", "../x", "a/b"}) {
    EXPECT_EQ(New(name, "row"), kExitUsage) << name;
    EXPECT_THAT(err_.str(), HasSubstr("no name for a kernel")) << name;
  }
  EXPECT_EQ(New("kernel", "row"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("a word of OpenCL C"));
  // A type in the template's source.
  EXPECT_EQ(New("vec", "row"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("for something else"));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(KernelsNewTest, NamesTheTemplatesWhereOneIsUnknown) {
  EXPECT_EQ(New("softmax", "rows"), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("there is no template \"rows\"; there are "
                                    "gemm, row, pointwise, conv, attention, "
                                    "grouped"));
}

TEST_F(KernelsNewTest, WritesWhatItWroteAsJson) {
  EXPECT_EQ(Run({"kernels", "new", "softmax", "--like", "row", "--dir",
                 folder_.path(), "--json"}),
            kExitOk);
  EXPECT_EQ(Output()["path"], Path("softmax"));
  EXPECT_EQ(Output()["files"],
            Json::array({"README.md", "manifest.textproto", "reference.cl",
                         "shapes.csv", "softmax.cl"}));
}

// A kernel's folder holds all of it, so these two have the same sources twice.
TEST(AuthorsKernelsTest, BothAttentionsHaveTheSameSources) {
  const std::string kernels = WAVETUNE_SOURCE_DIR "/tests/kernels";
  for (const char* file : {"/attention.cl", "/reference.cl", "/shapes.csv"}) {
    EXPECT_EQ(ReadAll(kernels + "/attention" + file),
              ReadAll(kernels + "/attention_counted" + file))
        << file;
  }
}

}  // namespace
}  // namespace wavetune::cli
