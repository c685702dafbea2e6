#include "cli/problem_arguments.h"

#include <string>
#include <vector>

#include "cli/shapes_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wavetune::testing::CausalAttentionSpec;
using wavetune::testing::GemmSpec;
using wavetune::testing::GroupedGemmSpec;

ParsedProblem Parse(const KernelSpec& spec,
                    const std::vector<std::string>& arguments) {
  return ParseProblem(spec.dimensions,
                      SplitProblemArguments(arguments).value());
}

TEST(ProblemArgumentsTest, TakesDimensionsInAnyOrder) {
  const ParsedProblem parsed = Parse(GemmSpec(), {"k=3", "m=1", "n=2"});
  EXPECT_TRUE(parsed.faults.empty());
  EXPECT_THAT(parsed.problem.extents, ElementsAre(1, 2, 3));
}

TEST(ProblemArgumentsTest, TakesAListForARepeatedDimension) {
  const ParsedProblem parsed =
      Parse(GroupedGemmSpec(), {"m=1,2,3", "n=64", "k=32"});
  EXPECT_TRUE(parsed.faults.empty()) << parsed.status();
  EXPECT_THAT(parsed.problem.repeated, ElementsAre(1, 2, 3));
}

TEST(ProblemArgumentsTest, TakesTheSpecialisation) {
  const auto arguments = SplitProblemArguments({"specialisation=causal"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->specialisation, "causal");
  EXPECT_TRUE(arguments->values.empty());
}

TEST(ProblemArgumentsTest, RefusesWhatIsNoAssignment) {
  EXPECT_THAT(std::string(SplitProblemArguments({"m"}).status().message()),
              HasSubstr("\"m\" is not of the form"));
  EXPECT_FALSE(SplitProblemArguments({"=1"}).ok());
  EXPECT_THAT(
      std::string(SplitProblemArguments({"m=1", "m=2"}).status().message()),
      HasSubstr("given twice"));
}

struct Fault {
  std::string argument;
  std::string says;
};

TEST(ProblemArgumentsTest, NamesEveryKindOfFault) {
  for (const Fault& fault : std::vector<Fault>{
           {"m=0", "\"m\": \"0\" is zero"},
           {"m=-4", "\"m\": \"-4\" is negative"},
           {"m=abc", "\"m\": \"abc\" is not a whole number"},
           {"m=", "\"m\": \"\" is not a whole number"},
           {"m=1.5", "is not a whole number"},
           {"m=99999999999999999999", "overflows 64 bits"},
           {"m=9999999999", "is above the kernel's largest, 2147483647"},
           {"m=1,2", "is not a whole number"}}) {
    const ParsedProblem parsed =
        Parse(GemmSpec(), {fault.argument, "n=1", "k=1"});
    ASSERT_EQ(parsed.faults.size(), 1u) << fault.argument;
    EXPECT_THAT(parsed.faults[0], HasSubstr(fault.says));
    EXPECT_EQ(parsed.problem.extents[0], kNoExtent);
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.status()));
  }
}

TEST(ProblemArgumentsTest, NamesMissingAndUnknownDimensionsTogether) {
  const ParsedProblem parsed = Parse(GemmSpec(), {"m=1", "k=1", "q=7"});
  EXPECT_THAT(parsed.faults, ElementsAre(HasSubstr("\"n\" is missing"),
                                         HasSubstr("unknown dimension \"q\"")));
}

TEST(ProblemArgumentsTest, NamesTheElementAtFault) {
  const ParsedProblem parsed =
      Parse(GroupedGemmSpec(), {"m=1,0,-3", "n=1", "k=1"});
  EXPECT_THAT(parsed.faults,
              ElementsAre(HasSubstr("zero"), HasSubstr("negative")));
}

// An expert without tokens.
KernelSpec GroupedGemmOfIdleExperts() {
  KernelSpec spec = GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  return spec;
}

TEST(ProblemArgumentsTest, ElementsMayBeZeroWhereTheKernelSaysSo) {
  const KernelSpec spec = GroupedGemmOfIdleExperts();
  const ParsedProblem parsed = Parse(spec, {"m=5,0,7", "n=64", "k=512"});
  EXPECT_TRUE(parsed.status().ok()) << parsed.status();
  EXPECT_THAT(parsed.problem.repeated, ElementsAre(5, 0, 7));
  // A fault is no zero, which is legal here.
  EXPECT_THAT(Parse(spec, {"m=5,x", "n=64", "k=512"}).problem.repeated,
              ElementsAre(5, kNoExtent));
}

TEST(ProblemArgumentsTest, ElementsAreSeparatedAsInFiles) {
  const KernelSpec spec = GroupedGemmOfIdleExperts();
  for (const std::string list : {"5,0,7", "5 0 7", "5;0;7"}) {
    EXPECT_THAT(Parse(spec, {"m=" + list, "n=1", "k=1"}).problem.repeated,
                ElementsAre(5, 0, 7));
    const auto shapes = ParseShapes(spec, "m,n,k\n\"" + list + "\",1,1\n");
    ASSERT_TRUE(shapes.ok()) << shapes.status();
    EXPECT_THAT((*shapes)[0].problem.repeated, ElementsAre(5, 0, 7));
  }
  EXPECT_THAT(Parse(spec, {"m=", "n=1", "k=1"}).faults,
              ElementsAre(HasSubstr("has no elements; give m=5,0,7")));
}

TEST(ProblemArgumentsTest, TellsTheFirstOfThousandsOfFaults) {
  std::string list = "m=x";
  for (int i = 1; i < 10000; ++i) list += ",x";
  const absl::Status status =
      Parse(GroupedGemmSpec(), {list, "n=1", "k=1"}).status();
  EXPECT_LT(status.message().size(), 2000u);
  EXPECT_THAT(std::string(status.message()), HasSubstr("and 9990 more"));
}

TEST(ShapesFileTest, ReadsWhatASpreadsheetWrites) {
  const auto shapes = ParseShapes(
      GemmSpec(), "\xef\xbb\xbfm,n,k,note\r\n1,2,3,\"qkv, fused\"\r\n");
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_THAT((*shapes)[0].problem.extents, ElementsAre(1, 2, 3));
  EXPECT_EQ((*shapes)[0].label, "qkv, fused");
}

TEST(ShapesFileTest, RefusesAColumnNamedTwice) {
  const auto shapes = ParseShapes(GemmSpec(), "m,n,k,N\n1,2,3,4\n");
  EXPECT_THAT(std::string(shapes.status().message()),
              HasSubstr("line 1: columns 2 and 4 are both named 'N'"));
}

TEST(ShapesFileTest, TellsTheFirstOfThousandsOfBadLines) {
  std::string csv = "m,n,k\n";
  for (int i = 0; i < 10000; ++i) csv += "1,2\n";
  const std::string text(ParseShapes(GemmSpec(), csv).status().message());
  EXPECT_LT(text.size(), 2000u);
  EXPECT_THAT(text, HasSubstr("and 9990 more"));
}

TEST(ShapesFileTest, ReadsProblemsWithTheirLabel) {
  const auto shapes = ParseShapes(GemmSpec(),
                                  "model,M,n,K,note\n"
                                  "llama,1,2,3,x\n"
                                  "\n"
                                  "qwen , 4, 5, 6,y\r\n");
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  ASSERT_EQ(shapes->size(), 2u);
  EXPECT_EQ((*shapes)[0].label, "llama");
  EXPECT_THAT((*shapes)[1].problem.extents, ElementsAre(4, 5, 6));
  EXPECT_EQ((*shapes)[1].label, "qwen");
}

TEST(ShapesFileTest, KeepsTheFirstOfEqualProblems) {
  const auto shapes = ParseShapes(GemmSpec(), "m,n,k\n1,2,3\n1,2,3\n");
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_EQ(shapes->size(), 1u);
}

TEST(ShapesFileTest, ReadsARepeatedDimensionAsAList) {
  const auto shapes =
      ParseShapes(GroupedGemmSpec(), "m,n,k\n7 12  6,28672,4096\n");
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_THAT((*shapes)[0].problem.repeated, ElementsAre(7, 12, 6));
}

TEST(ShapesFileTest, FindsTheSpecialisationByItsDefines) {
  const KernelSpec spec = CausalAttentionSpec();
  const std::string csv =
      "model,batch,heads,kv_heads,seq_q,seq_kv,causal\n"
      "a,1,8,1,131,525,1\n"
      "b,1,8,1,131,525,0\n";
  const auto shapes = ParseShapes(spec, csv);
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  ASSERT_EQ(shapes->size(), 2u);
  EXPECT_EQ((*shapes)[0].problem.specialisation, "causal");
  EXPECT_EQ((*shapes)[1].problem.specialisation, "full");
  const auto causal = ParseShapes(spec, csv, "causal");
  ASSERT_TRUE(causal.ok()) << causal.status();
  EXPECT_EQ(causal->size(), 1u);
  EXPECT_FALSE(ParseShapes(spec, csv, "diagonal").ok());
}

TEST(ShapesFileTest, AsksForASpecialisationThatNoColumnTells) {
  const std::string csv = "batch,heads,kv_heads,seq_q,seq_kv\n1,8,1,131,525\n";
  const auto shapes = ParseShapes(CausalAttentionSpec(), csv);
  EXPECT_THAT(std::string(shapes.status().message()),
              HasSubstr("--specialisation"));
  EXPECT_TRUE(ParseShapes(CausalAttentionSpec(), csv, "full").ok());
}

TEST(ShapesFileTest, NamesEveryFaultyLine) {
  const auto shapes =
      ParseShapes(GemmSpec(), "m,n,k\n1,2,3\n0,2,3\n1,2\n1,x,3\n");
  const std::string text(shapes.status().message());
  EXPECT_TRUE(absl::IsInvalidArgument(shapes.status()));
  EXPECT_THAT(text, HasSubstr("line 3"));
  EXPECT_THAT(text,
              HasSubstr("line 4: has 2 cells where the first line names 3"));
  EXPECT_THAT(text, HasSubstr("line 5"));
}

TEST(ShapesFileTest, NamesMissingColumnsAndEmptyFiles) {
  EXPECT_THAT(
      std::string(ParseShapes(GemmSpec(), "m,n\n1,2\n").status().message()),
      HasSubstr("no column for k"));
  EXPECT_FALSE(ParseShapes(GemmSpec(), "").ok());
  EXPECT_FALSE(ParseShapes(GemmSpec(), "m,n,k\n").ok());
}

}  // namespace
}  // namespace wavetune::cli
