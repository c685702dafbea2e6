#include "formats/trace.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::wavetune::testing::GroupedGemmSpec;
using ::wavetune::testing::H200;
using ::wavetune::testing::TritonAttentionSpec;
using ::wavetune::testing::TritonGemmSpec;

// Lines of the recorded H200 trace.
constexpr char kAnchors[] =
    "config,block_m,block_n,block_k,num_stages,num_warps,registers_per_thread,"
    "shared_memory_bytes,blocks_per_sm,regime,M,N,K,latency_us_min,"
    "latency_us_median\n"
    "0,16,64,32,2,4,47,5120,10,one_row,16,512,512,36.640,45.536\n"
    "0,16,64,32,2,4,47,5120,10,one_row,16,512,2048,31.776,48.256\n"
    "9,128,128,64,3,8,90,98304,2,square,1408,1536,512,40.5,41.25\n";

std::string GemmError(absl::string_view csv) {
  const auto trace = ParseTrace(TritonGemmSpec(), H200(), csv);
  EXPECT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(trace.status().message());
}

std::string Replaced(std::string text, const std::string& from,
                     const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ParseTraceTest, ReadsSamplesInFileOrder) {
  const auto trace = ParseTrace(TritonGemmSpec(), H200(), kAnchors);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->samples.size(), 3u);
  const Sample& sample = trace->samples[1];
  EXPECT_EQ(sample.configuration, Configuration({16, 64, 32, 2, 4}));
  EXPECT_THAT(sample.problem.extents, ElementsAre(16, 512, 2048));
  EXPECT_EQ(sample.problem.specialisation, "");
  EXPECT_EQ(sample.latency_us, 48.256);
  EXPECT_EQ(sample.min_us, 31.776);
  EXPECT_DOUBLE_EQ(sample.relative_spread, (48.256 - 31.776) / 48.256);
}

TEST(ParseTraceTest, AByteOrderMarkIsNoPartOfTheFirstName) {
  const auto trace = ParseTrace(TritonGemmSpec(), H200(),
                                absl::StrCat("\xef\xbb\xbf", kAnchors));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->samples.size(), 3u);
}

TEST(ParseTraceTest, AColumnNamedTwiceIsRefused) {
  EXPECT_THAT(GemmError(Replaced(kAnchors, "regime", "n")),
              HasSubstr("line 1: columns 10 and 12 are both named 'N'"));
}

TEST(ParseTraceTest, ReadsEachCandidateOnceWithItsFacts) {
  const auto trace = ParseTrace(TritonGemmSpec(), H200(), kAnchors);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->candidates.size(), 2u);
  const Candidate& first = trace->candidates[0];
  EXPECT_EQ(first.configuration, Configuration({16, 64, 32, 2, 4}));
  EXPECT_EQ(first.tiles_per_wave, 1320);
  EXPECT_EQ(first.blocks_per_multiprocessor, 10);
  EXPECT_EQ(first.registers, 47);
  EXPECT_EQ(first.shared_memory_bytes, 5120);
  EXPECT_EQ(trace->candidates[1].tiles_per_wave, 264);
  EXPECT_THAT(trace->candidates_by_specialisation,
              ElementsAre(trace->candidates));
}

TEST(ParseTraceTest, DoesWithoutOptionalColumns) {
  const auto trace = ParseTrace(
      TritonGemmSpec(), H200(),
      "M,N,K,block_m,block_n,block_k,num_stages,num_warps,latency_us,"
      "cublas_us\r\n"
      "\r\n"
      " 19,1536,7168,16,64,32,2,4,159.019, 10.618\r\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->samples.size(), 1u);
  EXPECT_EQ(trace->samples[0].latency_us, 159.019);
  EXPECT_EQ(trace->samples[0].min_us, 159.019);
  EXPECT_EQ(trace->samples[0].relative_spread, 0);
  EXPECT_EQ(trace->candidates[0].tiles_per_wave, 132);
}

TEST(ParseTraceTest, PrefersTheMedianOverAPlainLatency) {
  const auto trace = ParseTrace(
      TritonGemmSpec(), H200(),
      "M,N,K,block_m,block_n,block_k,num_stages,num_warps,latency_us,"
      "latency_us_median\n"
      "19,1536,7168,16,64,32,2,4,1,2\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->samples[0].latency_us, 2);
}

TEST(ParseTraceTest, TellsSpecialisationsApartByTheirDefines) {
  const auto trace = ParseTrace(
      TritonAttentionSpec(), H200(),
      "block_q,block_kv,num_stages,num_warps,causal,registers_per_thread,"
      "blocks_per_sm,batch,heads,kv_heads,seq_q,seq_kv,latency_us_median\n"
      "16,16,1,4,0,78,6,1,8,2,1,512,49.216\n"
      "16,16,1,4,1,80,5,1,8,2,1,512,50.1\n"
      "16,16,1,4,2,81,5,1,8,2,1,512,50.1\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->samples[0].problem.specialisation, "full");
  EXPECT_EQ(trace->samples[1].problem.specialisation, "causal");
  EXPECT_EQ(trace->samples[2].problem.specialisation, "");
  EXPECT_EQ(trace->candidates.size(), 1u);
  ASSERT_EQ(trace->candidates_by_specialisation.size(), 2u);
  EXPECT_EQ(trace->candidates_by_specialisation[0][0].tiles_per_wave, 6 * 132);
  EXPECT_EQ(trace->candidates_by_specialisation[1][0].tiles_per_wave, 5 * 132);
}

TEST(ParseTraceTest, ADefineWithoutAColumnMatchesNoLine) {
  KernelSpec spec = TritonAttentionSpec();
  spec.specialisations[0].defines["HEAD_DIM"] = "128";
  const auto trace = ParseTrace(
      spec, H200(),
      "block_q,block_kv,num_stages,num_warps,causal,batch,heads,kv_heads,seq_q,"
      "seq_kv,latency_us\n"
      "16,16,1,4,0,1,8,2,1,512,49.216\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->samples[0].problem.specialisation, "");
}

TEST(ParseTraceTest, ReadsTheElementsOfARepeatedDimension) {
  const auto trace =
      ParseTrace(GroupedGemmSpec(), H200(),
                 "m,n,k,BLOCK_M,BLOCK_N,BLOCK_K,NUM_STAGES,VECTOR,latency_us\n"
                 "3 0016  5,64,32,16,32,16,1,1,7.5\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->samples[0].problem.repeated, ElementsAre(3, 16, 5));
  EXPECT_THAT(trace->samples[0].problem.extents, ElementsAre(0, 64, 32));
}

TEST(ParseTraceTest, NamesAMissingColumn) {
  EXPECT_THAT(GemmError(Replaced(kAnchors, "block_n", "tile_n")),
              HasSubstr("line 1: column 'BLOCK_N' is missing"));
  EXPECT_THAT(GemmError(Replaced(kAnchors, ",K,", ",depth,")),
              HasSubstr("line 1: column 'k' is missing"));
  EXPECT_THAT(GemmError(Replaced(kAnchors, "latency_us_median", "time")),
              HasSubstr("'latency_us' is missing"));
  EXPECT_THAT(GemmError(""), HasSubstr("no line with column names"));
}

TEST(ParseTraceTest, NamesLineAndColumnOfABadCell) {
  EXPECT_THAT(GemmError(Replaced(kAnchors, ",2048,", ",2k,")),
              HasSubstr("line 3: column 'K': '2k' is no whole number"));
  EXPECT_THAT(GemmError(Replaced(kAnchors, ",2048,", ",0,")),
              HasSubstr("line 3: column 'K': '0' is outside of 1.."));
  EXPECT_THAT(GemmError(Replaced(kAnchors, "one_row,16", "one_row,")),
              HasSubstr("line 2: column 'M': '' is no whole number"));
  EXPECT_THAT(
      GemmError(Replaced(kAnchors, "48.256", "fast")),
      HasSubstr("line 3: column 'latency_us_median': 'fast' is no latency"));
  for (const char* latency : {"0", "-1", "nan", "inf", "1e999", ""}) {
    EXPECT_THAT(GemmError(Replaced(kAnchors, "48.256", latency)),
                HasSubstr("is no latency"))
        << latency;
  }
  EXPECT_THAT(GemmError(Replaced(kAnchors, ",5120,10,", ",5120,-1,")),
              HasSubstr("line 2: column 'blocks_per_sm': '-1' is no count"));
  EXPECT_THAT(GemmError(Replaced(kAnchors, ",45.536", "")),
              HasSubstr("line 2: has 14 cells where the first line names 15"));
}

TEST(ParseTraceTest, NamesAConfigurationOutsideTheSpace) {
  EXPECT_THAT(GemmError(Replaced(kAnchors, "9,128,128", "9,128,96")),
              HasSubstr("line 4: configuration 'BLOCK_M=128 BLOCK_N=96"));
}

TEST(ParseTraceTest, AHeaderAloneIsAnEmptyTrace) {
  const std::string csv = kAnchors;
  const auto trace =
      ParseTrace(TritonGemmSpec(), H200(), csv.substr(0, csv.find('\n')));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_TRUE(trace->samples.empty());
  EXPECT_EQ(trace->candidates_by_specialisation.size(), 1u);
}

TEST(ParseTraceTest, ReadsTensOfThousandsOfLines) {
  std::string csv =
      "M,N,K,block_m,block_n,block_k,num_stages,num_warps,latency_us\n";
  for (int i = 1; i <= 25000; ++i) {
    absl::StrAppend(&csv, i, ",1536,7168,16,64,32,2,4,", i, ".5\n");
  }
  const auto trace = ParseTrace(TritonGemmSpec(), H200(), csv);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->samples.size(), 25000u);
  EXPECT_EQ(trace->samples.back().latency_us, 25000.5);
  EXPECT_EQ(trace->candidates.size(), 1u);
}

// Candidates and lines that name them by number.
constexpr char kCandidates[] =
    "candidate,BLOCK_M,BLOCK_N,BLOCK_K,NUM_STAGES,NUM_WARPS,capacity,"
    "blocks_per_sm,registers_per_thread,shared_memory_bytes,excluded\n"
    "0,16,64,32,2,4,1312,10,47,5120,\n"
    "1,128,128,64,3,8,264,2,90,98304,\n"
    "2,128,256,64,3,8,132,1,255,0,crashed: exit code 1\n";
constexpr char kLines[] =
    "candidate,m,n,k,latency_us,latency_us_min,relative_spread,suspect\n"
    "1,16,512,512,45.536,36.64,0.021,0\n"
    "0,16,512,2048,48.256,31.776,0.3,1\n";

std::vector<TraceCandidate> ListedCandidates() {
  auto candidates = ParseTraceCandidates(TritonGemmSpec(), H200(), kCandidates);
  EXPECT_TRUE(candidates.ok()) << candidates.status();
  return candidates.ok() ? *candidates : std::vector<TraceCandidate>();
}

TEST(TraceCandidatesTest, HaveTheirFactsAndWhyTheyAreExcluded) {
  const std::vector<TraceCandidate> candidates = ListedCandidates();
  ASSERT_EQ(candidates.size(), 3u);
  const Candidate& first = candidates[0].candidate;
  EXPECT_EQ(first.configuration, Configuration({16, 64, 32, 2, 4}));
  // Not a multiple of the multiprocessors: whole clusters need not fill all.
  EXPECT_EQ(first.tiles_per_wave, 1312);
  EXPECT_EQ(first.blocks_per_multiprocessor, 10);
  EXPECT_EQ(first.registers, 47);
  EXPECT_EQ(first.shared_memory_bytes, 5120);
  EXPECT_FALSE(first.excluded());
  EXPECT_EQ(candidates[2].candidate.excluded_reason, "crashed: exit code 1");
  EXPECT_EQ(UsableBySpecialisation(TritonGemmSpec(), candidates)[0].size(), 2u);
}

TEST(TraceCandidatesTest, AreWrittenAsTheyAreRead) {
  EXPECT_EQ(FormatTraceCandidates(TritonGemmSpec(), ListedCandidates()),
            kCandidates);
}

TEST(TraceCandidatesTest, AReasonIsOneCell) {
  std::vector<TraceCandidate> candidates = ListedCandidates();
  candidates[2].candidate.excluded_reason =
      "does not compile: a.cu(3): error, \"b\"\n  b;\n" +
      std::string(5000, 'x');
  const std::string csv = FormatTraceCandidates(TritonGemmSpec(), candidates);
  const auto read = ParseTraceCandidates(TritonGemmSpec(), H200(), csv);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT((*read)[2].candidate.excluded_reason,
              HasSubstr("a.cu(3): error; \"b\" b; xxx"));
  EXPECT_LE((*read)[2].candidate.excluded_reason.size(), 200u);
  candidates[2].candidate.excluded_reason = "\n";
  EXPECT_TRUE(
      ParseTraceCandidates(TritonGemmSpec(), H200(),
                           FormatTraceCandidates(TritonGemmSpec(), candidates))
          .value()[2]
          .candidate.excluded());
}

TEST(TraceCandidatesTest, NameTheirSpecialisationWhereThereAreSome) {
  const char csv[] =
      "candidate,specialisation,BLOCK_Q,BLOCK_KV,NUM_STAGES,NUM_WARPS,"
      "blocks_per_sm\n"
      "0,full,16,16,1,4,6\n"
      "1,causal,16,16,1,4,5\n";
  const KernelSpec spec = TritonAttentionSpec();
  const auto read = ParseTraceCandidates(spec, H200(), csv);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto usable = UsableBySpecialisation(spec, *read);
  ASSERT_EQ(usable.size(), 2u);
  EXPECT_EQ(usable[0][0].tiles_per_wave, 6 * 132);
  EXPECT_EQ(usable[1][0].tiles_per_wave, 5 * 132);
  const auto trace =
      ParseTrace(spec, H200(),
                 "candidate,batch,heads,kv_heads,seq_q,seq_kv,latency_us\n"
                 "1,1,8,2,1,512,49.216\n",
                 &*read);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->samples[0].problem.specialisation, "causal");
  EXPECT_THAT(FormatTrace(spec, *read, trace->samples),
              HasSubstr("\n1,1,8,2,1,512,49.216,49.216,0,0\n"));
  EXPECT_THAT(std::string(ParseTraceCandidates(
                              spec, H200(), Replaced(csv, "causal", "acausal"))
                              .status()
                              .message()),
              HasSubstr("line 3: column 'specialisation': 'acausal' is no "
                        "specialisation; the kernel has full, causal"));
}

TEST(TraceCandidatesTest, NameLineAndColumnOfAFault) {
  const auto error = [](const std::string& from, const std::string& to) {
    const auto read = ParseTraceCandidates(TritonGemmSpec(), H200(),
                                           Replaced(kCandidates, from, to));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(read.status().message());
  };
  EXPECT_THAT(error("candidate,", "number,"),
              HasSubstr("line 1: column 'candidate' is missing"));
  EXPECT_THAT(error("\n1,128", "\n7,128"),
              HasSubstr("line 3: column 'candidate': '7' is out of order; "
                        "number candidates from 0 on, this is 1"));
  EXPECT_THAT(error("\n1,128,128", "\n1,128,96"),
              HasSubstr("line 3: configuration 'BLOCK_M=128 BLOCK_N=96"));
  EXPECT_THAT(error(",1312,", ",many,"),
              HasSubstr("line 2: column 'capacity': 'many'"));
  EXPECT_THAT(error("\n2,128,256", "\n2,128,128"),
              HasSubstr("line 4: names a candidate a second time"));
  EXPECT_THAT(error(",5120,\n", ",5120\n"), HasSubstr("line 2: has 10 cells"));
}

TEST(ParseTraceTest, ReadsLinesThatNameTheirCandidateByNumber) {
  const std::vector<TraceCandidate> candidates = ListedCandidates();
  const auto trace = ParseTrace(TritonGemmSpec(), H200(), kLines, &candidates);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->samples.size(), 2u);
  EXPECT_EQ(trace->samples[0].configuration,
            Configuration({128, 128, 64, 3, 8}));
  EXPECT_EQ(trace->samples[1].min_us, 31.776);
  EXPECT_EQ(trace->samples[1].relative_spread, 0.3);
  EXPECT_TRUE(trace->samples[1].suspect);
  EXPECT_FALSE(trace->samples[0].suspect);
  EXPECT_EQ(trace->candidates[1].tiles_per_wave, 1312);
}

TEST(ParseTraceTest, NamesACandidateThatIsNotListed) {
  const std::vector<TraceCandidate> candidates = ListedCandidates();
  const auto error = [&](const std::string& from, const std::string& to) {
    return std::string(ParseTrace(TritonGemmSpec(), H200(),
                                  Replaced(kLines, from, to), &candidates)
                           .status()
                           .message());
  };
  EXPECT_THAT(error("\n0,16", "\n9,16"),
              HasSubstr("line 3: column 'candidate': '9' is no candidate; 3 "
                        "are listed"));
  EXPECT_THAT(error("\n0,16", "\n2,16"), HasSubstr("'2' is excluded (crashed"));
  EXPECT_THAT(error(",0.3,1", ",0.3,yes"),
              HasSubstr("'yes' is neither 0 nor 1"));
  EXPECT_THAT(error(",0.3,", ",wide,"), HasSubstr("'wide' is no ratio"));
}

TEST(FormatTraceTest, IsReadBackInTheOrderOfProblems) {
  const std::vector<TraceCandidate> candidates = ListedCandidates();
  std::vector<Sample> samples =
      ParseTrace(TritonGemmSpec(), H200(), kLines, &candidates)->samples;
  std::swap(samples[0], samples[1]);
  Sample excluded = samples[0];
  excluded.configuration = candidates[2].candidate.configuration;
  samples.push_back(excluded);
  EXPECT_EQ(FormatTrace(TritonGemmSpec(), candidates, samples),
            std::string("candidate,m,n,k,latency_us,latency_us_min,"
                        "relative_spread,suspect\n"
                        "1,16,512,512,45.536,36.64,0.021,0\n"
                        "0,16,512,2048,48.256,31.776,0.3,1\n"));
}

TEST(FormatTraceTest, EveryRecordedNumberIsReadBack) {
  const std::vector<TraceCandidate> candidates = ListedCandidates();
  Sample sample{.configuration = candidates[0].candidate.configuration,
                .problem = {.extents = {1, 2, 3}},
                .latency_us = 5,
                .min_us = 4};
#define WAVETUNE_SET(field, digits) \
  sample.field = static_cast<decltype(sample.field)>(1);
  WAVETUNE_RECORDED_FIELDS(WAVETUNE_SET)
#undef WAVETUNE_SET
  const auto trace = ParseTrace(
      TritonGemmSpec(), H200(),
      FormatTrace(TritonGemmSpec(), candidates, {sample}), &candidates);
  ASSERT_TRUE(trace.ok()) << trace.status();
#define WAVETUNE_EXPECT(field, digits) \
  EXPECT_EQ(trace->samples[0].field, sample.field);
  WAVETUNE_RECORDED_FIELDS(WAVETUNE_EXPECT)
#undef WAVETUNE_EXPECT
}

TEST(FormatTraceTest, KeepsFiveDigitsOfMicroseconds) {
  const std::vector<TraceCandidate> candidates = ListedCandidates();
  Sample sample{.configuration = candidates[0].candidate.configuration,
                .problem = {.extents = {1, 2, 3}}};
  sample.latency_us = 123456.789;
  sample.min_us = 1.23456789;
  EXPECT_THAT(FormatTrace(TritonGemmSpec(), candidates, {sample}),
              HasSubstr("0,1,2,3,1.2346e+05,1.2346,0,0\n"));
  const std::string csv = FormatTrace(TritonGemmSpec(), candidates, {sample});
  EXPECT_EQ(ParseTrace(TritonGemmSpec(), H200(), csv, &candidates)
                ->samples[0]
                .latency_us,
            123460);
}

}  // namespace
}  // namespace wavetune
