#include "cli/export/engine_file_name.h"

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

EngineFileKey Qwen3On(const std::string& device_name) {
  return {.experts = 128,
          .intermediate = 768,
          .device_name = device_name,
          .dtype = ""};
}

std::string Vllm(const EngineFileKey& key) { return VllmFileName(key).value(); }
std::string Sglang(const EngineFileKey& key) {
  return SglangFilePath(key, "3.6.0").value();
}

// What is said of a name that is refused.
std::string Refusal(const absl::StatusOr<std::string>& name) {
  EXPECT_TRUE(absl::IsInvalidArgument(name.status())) << name.status();
  return name.status().ToString();
}

TEST(EngineFileNameTest, BlanksOfTheDeviceBecomeUnderscores) {
  const EngineFileKey key = Qwen3On("NVIDIA H100 80GB HBM3");
  EXPECT_EQ(Vllm(key), "E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json");
  EXPECT_EQ(Sglang(key),
            "configs/triton_3_6_0/"
            "E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json");
  EXPECT_THAT(OlderVllmFileNames(key).value(), IsEmpty());
}

TEST(EngineFileNameTest, VllmHasOneNameForAllOfTheH200FamilyAndSglangHasNot) {
  const EngineFileKey key = Qwen3On("NVIDIA H200 NVL");
  EXPECT_EQ(Vllm(key), "E=128,N=768,device_name=NVIDIA_H200.json");
  EXPECT_THAT(Sglang(key), HasSubstr("device_name=NVIDIA_H200_NVL.json"));
  // Before vLLM had that rule.
  EXPECT_THAT(OlderVllmFileNames(key).value(),
              ElementsAre("E=128,N=768,device_name=NVIDIA_H200_NVL.json"));
}

TEST(EngineFileNameTest, AGh200IsNoH200) {
  EXPECT_EQ(Vllm(Qwen3On("NVIDIA GH200 480GB")),
            "E=128,N=768,device_name=NVIDIA_GH200_480GB.json");
}

TEST(EngineFileNameTest, SlashesAndRowsOfBlanksBecomeOneUnderscoreInVllm) {
  const EngineFileKey key = Qwen3On("Quadro RTX  6000 / 8000");
  EXPECT_EQ(Vllm(key), "E=128,N=768,device_name=Quadro_RTX_6000_8000.json");
  EXPECT_THAT(
      OlderVllmFileNames(key).value(),
      ElementsAre("E=128,N=768,device_name=Quadro_RTX__6000_/_8000.json"));
  EXPECT_EQ(Sglang(key),
            "configs/triton_3_6_0/"
            "E=128,N=768,device_name=Quadro_RTX__6000_/_8000.json");
}

TEST(EngineFileNameTest, NamesBeyondAsciiStayAsTheyAre) {
  EXPECT_EQ(Vllm(Qwen3On("摩尔 S4000")),
            "E=128,N=768,device_name=摩尔_S4000.json");
  // A blank that is not ASCII is one, too; SGLang leaves it.
  EXPECT_EQ(Vllm(Qwen3On("GPU\u00a0X\u3000Y")),
            "E=128,N=768,device_name=GPU_X_Y.json");
  EXPECT_THAT(Sglang(Qwen3On("GPU\u00a0X")), HasSubstr("GPU\u00a0X.json"));
}

TEST(EngineFileNameTest, TypesAndBlockShapesAreWrittenAsEachEngineDoes) {
  EngineFileKey key = Qwen3On("NVIDIA H200");
  key.dtype = "fp8_w8a8";
  key.block_shape = {128, 128};
  EXPECT_EQ(Vllm(key),
            "E=128,N=768,device_name=NVIDIA_H200,dtype=fp8_w8a8,"
            "block_shape=[128,128].json");
  EXPECT_EQ(Sglang(key),
            "configs/triton_3_6_0/E=128,N=768,device_name=NVIDIA_H200,"
            "dtype=fp8_w8a8,block_shape=[128, 128].json");
  key.block_shape.clear();
  key.per_channel_quant = true;
  key.down = true;
  EXPECT_EQ(Sglang(key),
            "configs/triton_3_6_0/E=128,N=768,device_name=NVIDIA_H200,"
            "dtype=fp8_w8a8,per_channel_quant=True_down.json");
}

TEST(EngineFileNameTest, VllmCountsWeightsOfFourBitsAndSglangTheirPairs) {
  EngineFileKey key = Qwen3On("NVIDIA H200");
  key.dtype = "int4_w4a16";
  EXPECT_THAT(Vllm(key), HasSubstr("N=768,"));
  EXPECT_THAT(Sglang(key), HasSubstr("N=384,"));
}

TEST(EngineFileNameTest, NamesThatNoFileCanHaveAreRefused) {
  EXPECT_THAT(Refusal(VllmFileName(Qwen3On(""))), HasSubstr("--device-name"));
  EXPECT_THAT(Refusal(VllmFileName(Qwen3On("a\x01"))),
              HasSubstr("control characters"));
  for (const char* text : {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf"}) {
    EXPECT_THAT(Refusal(VllmFileName(Qwen3On(text))), HasSubstr("UTF-8"));
  }
  EXPECT_THAT(Refusal(VllmFileName(Qwen3On(std::string(300, 'x')))),
              HasSubstr("too long"));
}

TEST(EngineFileNameTest, ANameThatLeadsOutOfSglangsFolderIsRefused) {
  EXPECT_THAT(Refusal(SglangFilePath(Qwen3On("GPU/../../etc"), "3.6.0")),
              HasSubstr("leads out"));
  EXPECT_EQ(Vllm(Qwen3On("GPU/../../etc")),
            "E=128,N=768,device_name=GPU_.._.._etc.json");
}

TEST(EngineFileNameTest, VersionsOfTritonThatStopSglangAreRefused) {
  for (const char* version : {"", "3.6.0+git1", "3..6", "main", "3_6"}) {
    EXPECT_THAT(Refusal(SglangFilePath(Qwen3On("NVIDIA H200"), version)),
                HasSubstr("triton.__version__"))
        << version;
  }
}

TEST(EngineFileNameTest, NamesThatVllmTakesForOneDeviceAreTheSame) {
  EXPECT_TRUE(SameDeviceName("NVIDIA H200", "NVIDIA_H200_NVL"));
  EXPECT_FALSE(SameDeviceName("NVIDIA H200", "NVIDIA H100 80GB HBM3"));
}

}  // namespace
}  // namespace wavetune::cli
