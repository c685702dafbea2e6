#include "profiler_agent/measure/source_includes.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Names(const std::string& source) {
  std::vector<std::string> names;
  for (const SourceInclude& include : IncludesOf(source)) {
    names.push_back(include.name);
  }
  return names;
}

TEST(SourceIncludesTest, FindsDirectivesHoweverTheyAreWritten) {
  EXPECT_THAT(Names("#include \"a.h\"\n  # /* x */ include <b.h> // c\n"
                    "#inc\\\nlude \"c.h\"\n%:include \"d.h\"\n"
                    "/* of\n two lines */ #include \"e.h\"\n"
                    "#include NAME\n#import \"f.h\"\n"),
              ElementsAre("a.h", "b.h", "c.h", "d.h", "e.h", "NAME", "f.h"));
  EXPECT_THAT(Names("// #include \"a.h\"\n/*\n#include \"b.h\"\n*/\n"
                    "const char* text = \"#include \\\"c.h\\\"\";\n"
                    "#define include \"d.h\"\n#pragma once\n"),
              IsEmpty());
}

// Compilers take these, each some.
TEST(SourceIncludesTest, NothingHidesADirective) {
  EXPECT_THAT(Names("int a;\r#include \"a.h\"\rint b;"), ElementsAre("a.h"));
  EXPECT_THAT(Names("#inc\\ \t\r\nlude \"a.h\"\n"), ElementsAre("a.h"));
  EXPECT_THAT(Names("// \\ \n#include \"a.h\"\n"), ElementsAre("a.h"));
  EXPECT_THAT(Names("// ?\?/\n#include \"a.h\"\n"), ElementsAre("a.h"));
  // In C++ a raw string, in which there is no comment; in C there is one.
  EXPECT_THAT(Names("const char* s = R\"x(\n/*\n)x\";\n#include \"a.h\"\n"),
              ElementsAre("a.h"));
  EXPECT_THAT(Names("#define R\nconst char* s = R\"(\";\n#include \"a.h\"\n"
                    "// )\"\n"),
              ElementsAre("a.h"));
}

TEST(SourceIncludesTest, AFileOutsideOfTheKernelsFolderIsRefused) {
  const auto check = [](const std::string& line) {
    const std::map<std::string, std::string> files = {
        {"a.cu", "#include \"lib/b.cuh\"\n#include <cuda_bf16.h>\n"},
        {"lib/b.cuh", line},
        {"notes.py", "# include what is slow\n"}};
    return std::string(CheckIncludes(files, "a.cu").message());
  };
  EXPECT_EQ(check("#include \"a.cu\"\n#include <cuda_fp16.h>\n"), "");
  EXPECT_THAT(check("#include \"/etc/passwd\""),
              HasSubstr("includes \"/etc/passwd\": it is not among the"));
  EXPECT_THAT(check("#include </etc/passwd>"), HasSubstr("</etc/passwd>"));
  EXPECT_THAT(check("#include \"../other/b.cuh\""), HasSubstr("../other"));
  EXPECT_THAT(check("#define F \"/etc/passwd\"\n#include F"),
              HasSubstr("includes F, which is no name of a file"));
}

TEST(SourceIncludesTest, NothingInQuotesIsLeftWhereAllWasPutIn) {
  EXPECT_TRUE(CheckNoIncludes("#line 1 \"a.cl\"\nint a;").ok());
  EXPECT_TRUE(CheckNoIncludes("#include <other.h>").ok());
  EXPECT_FALSE(CheckNoIncludes("#include \"other.h\"").ok());
  EXPECT_FALSE(CheckNoIncludes("#include </other.h>").ok());
}

}  // namespace
}  // namespace wavetune
