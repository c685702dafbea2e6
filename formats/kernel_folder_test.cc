#include "formats/kernel_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "formats/text_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kManifest[] = R"manifest(
name: "copy"
dimensions { name: "n" }
dimensions { name: "k" }
parameters { name: "BLOCK" role: MACRO values: [16, 32] }
parameters { name: "STEP" role: MACRO values: [4] }
mapping {
  tiles: "ceil_div(n, BLOCK)"
  iterations_per_tile: "ceil_div(k, STEP)"
}
implementations { backend: "opencl" sources: "copy.cl" entry: "copy" block_size: "1" compile_options: "-O" }
arguments { name: "in" role: INPUT type: FLOAT32 elements: "n" }
arguments { name: "out" role: OUTPUT type: FLOAT32 elements: "n" }
correctness { source: "reference.cl" entry: "reference" work_items: "n" relative_tolerance: 1e-5 }
default_configuration { key: "BLOCK" value: 16 }
default_configuration { key: "STEP" value: 4 }
)manifest";

class KernelFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "kernel_folder_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    Write("manifest.textproto", kManifest);
    Write("copy.cl", "kernel source");
    Write("reference.cl", "reference source");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
  }
  void WriteManifestWith(const std::string& from, const std::string& to) {
    std::string manifest = kManifest;
    const size_t at = manifest.find(from);
    ASSERT_NE(at, std::string::npos);
    manifest.replace(at, from.size(), to);
    Write("manifest.textproto", manifest);
  }
  std::string LoadError() {
    absl::StatusOr<KernelFolder> folder = LoadKernelFolder(folder_);
    return folder.ok() ? "" : std::string(folder.status().message());
  }

  std::string folder_;
};

TEST_F(KernelFolderTest, AByteOrderMarkIsSkipped) {
  Write("manifest.textproto", std::string("\xef\xbb\xbf") + kManifest);
  EXPECT_EQ(LoadError(), "");
}

TEST_F(KernelFolderTest, AByteOfAnotherEncodingIsRefusedWithItsPlace) {
  WriteManifestWith("name: \"copy\"", "name: \"c\xf6py\"");
  EXPECT_THAT(LoadError(), HasSubstr("manifest.textproto: line 2, column 9"));
  EXPECT_THAT(LoadError(), HasSubstr("\\xf6 is not UTF-8: save the file"));
}

TEST_F(KernelFolderTest, CommentsMayBeInAnyEncoding) {
  WriteManifestWith("name: \"copy\"",
                    "# gr\xf6\xdf"
                    "er\nname: \"copy\"  # \"\xe9");
  EXPECT_EQ(LoadError(), "");
  // Within quotes it is no comment.
  WriteManifestWith("compile_options: \"-O\"", "compile_options: \"-O#\xe9\"");
  EXPECT_THAT(LoadError(), HasSubstr("is not UTF-8"));
}

TEST_F(KernelFolderTest, ALinkOutOfTheFolderIsNotFollowed) {
  std::filesystem::remove(folder_ + "/copy.cl");
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/copy.cl");
  EXPECT_THAT(LoadError(),
              HasSubstr("copy.cl leads to /etc/passwd, out of the"));
  std::filesystem::remove(folder_ + "/copy.cl");
  std::filesystem::create_symlink("reference.cl", folder_ + "/copy.cl");
  EXPECT_EQ(LoadError(), "");
}

TEST_F(KernelFolderTest, WhatOthersCanWriteIsRefusedWhereNobodyAskedForIt) {
  const auto load = [this] {
    return LoadKernelFolder(folder_, InputKind::kOwnFile).status();
  };
  EXPECT_TRUE(load().ok()) << load();
  const std::string source = folder_ + "/copy.cl";
  std::filesystem::permissions(source, std::filesystem::perms(0664));
  EXPECT_TRUE(absl::IsPermissionDenied(load()));
  EXPECT_THAT(std::string(load().message()), HasSubstr("chmod go-w " + source));
  EXPECT_EQ(LoadError(), "");  // On somebody's explicit word it is read.
  std::filesystem::permissions(source, std::filesystem::perms(0644));
  std::filesystem::permissions(folder_, std::filesystem::perms(0777));
  EXPECT_THAT(std::string(load().message()),
              HasSubstr("chmod go-w " + folder_));
}

TEST_F(KernelFolderTest, ReadsManifestAndEverySourceItNames) {
  absl::StatusOr<KernelFolder> folder = LoadKernelFolder(folder_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->spec.name, "copy");
  ASSERT_EQ(folder->sources.size(), 2u);
  EXPECT_EQ(folder->sources[0].name(), "copy.cl");
  EXPECT_EQ(folder->sources[1].content(), "reference source");
}

TEST_F(KernelFolderTest, FingerprintChangesWithEverythingThatChangesTheKernel) {
  const KernelFolder before = LoadKernelFolder(folder_).value();
  const std::string fingerprint = before.Fingerprint("opencl", "compiler 1");
  EXPECT_EQ(fingerprint.size(), 64u);
  EXPECT_EQ(LoadKernelFolder(folder_)->Fingerprint("opencl", "compiler 1"),
            fingerprint);
  EXPECT_NE(before.Fingerprint("opencl", "compiler 2"), fingerprint);
  EXPECT_NE(before.Fingerprint("replay", "compiler 1"), fingerprint);
  Write("copy.cl", "kernel source, changed");
  EXPECT_NE(LoadKernelFolder(folder_)->Fingerprint("opencl", "compiler 1"),
            fingerprint);
  Write("copy.cl", "kernel source");
  WriteManifestWith("-O", "-O2");
  EXPECT_NE(LoadKernelFolder(folder_)->Fingerprint("opencl", "compiler 1"),
            fingerprint);
}

TEST_F(KernelFolderTest, NamesTheMissingSource) {
  std::filesystem::remove(folder_ + "/reference.cl");
  EXPECT_THAT(LoadError(), HasSubstr("reference.cl"));
}

TEST_F(KernelFolderTest, NamesTheMissingManifest) {
  std::filesystem::remove(folder_ + "/manifest.textproto");
  EXPECT_THAT(LoadError(), HasSubstr("manifest.textproto"));
}

TEST_F(KernelFolderTest, RefusesSourcesOutsideOfTheFolder) {
  WriteManifestWith("sources: \"copy.cl\"", "sources: \"../copy.cl\"");
  EXPECT_THAT(LoadError(), HasSubstr("is no file in the kernel's folder"));
  WriteManifestWith("sources: \"copy.cl\"", "sources: \"/etc/passwd\"");
  EXPECT_THAT(LoadError(), HasSubstr("is no file in the kernel's folder"));
}

TEST_F(KernelFolderTest, SyntaxErrorsCarryLineAndColumn) {
  Write("manifest.textproto", "name: \"copy\"\ndimensions { nam: \"n\" }\n");
  EXPECT_THAT(LoadError(), HasSubstr("line 2, column 17"));
}

// As manifests of 0.1 might be.
TEST_F(KernelFolderTest, StructuresAndFormerNamesAreFaultsThatSayWhatToWrite) {
  for (const char* structure :
       {"mapping { tiles { dimension: \"n\" } }",
        "mapping { rows { dimension: \"n\" tile: \"BLOCK\" } }",
        "constraints { left { factors: \"BLOCK\" } }"}) {
    Write("manifest.textproto", absl::StrCat("name: \"copy\"\n", structure));
    EXPECT_THAT(LoadError(),
                AllOf(HasSubstr("manifest.textproto: line 2, column"),
                      HasSubstr("Write it as text, such as \"ceil_div(m, "
                                "BLOCK_M)\"")))
        << structure;
  }
  Write("manifest.textproto",
        "name: \"copy\"\nimplementations { group_size: \"1\" }");
  EXPECT_THAT(LoadError(),
              AllOf(HasSubstr("line 2, column"), HasSubstr("\"group_size\""),
                    HasSubstr("docs/manifest.md has the names of fields")));
}

TEST_F(KernelFolderTest, EveryUnknownNameIsReportedAtOnceWithItsPlace) {
  std::string manifest = kManifest;
  manifest.replace(manifest.find("ceil_div(n, BLOCK)"), 18,
                   "ceil_div(n, BLOK)");
  manifest.replace(manifest.find("ceil_div(k, STEP)"), 17, "ceil_div(q, STEP)");
  Write("manifest.textproto", manifest);
  EXPECT_THAT(LoadError(),
              AllOf(HasSubstr("mapping.tiles, line"),
                    HasSubstr("nothing is declared as 'BLOK'; did you mean "
                              "BLOCK?"),
                    HasSubstr("mapping.iterations_per_tile, line"),
                    HasSubstr("nothing is declared as 'q'")));
}

TEST_F(KernelFolderTest, ReadsTheManifestsOfTheTree) {
  for (const char* path :
       {"/tests/data/h200_triton_gemm", "/tests/data/h200_triton_attention"}) {
    absl::StatusOr<KernelFolder> folder =
        LoadKernelFolder(std::string(WAVETUNE_SOURCE_DIR) + path);
    EXPECT_TRUE(folder.ok()) << folder.status();
  }
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(WAVETUNE_SOURCE_DIR) + "/kernels")) {
    if (!entry.is_directory()) continue;
    absl::StatusOr<KernelFolder> folder = LoadKernelFolder(entry.path());
    EXPECT_TRUE(folder.ok()) << folder.status();
  }
}

class ReadTextFileTest : public KernelFolderTest {};

TEST_F(ReadTextFileTest, ReadsPlainAndGzipAlike) {
  Write("plain.csv", "a,b\n1,2\n");
  gzFile file = gzopen((folder_ + "/packed.csv.gz").c_str(), "wb");
  gzputs(file, "a,b\n1,2\n");
  gzclose(file);
  EXPECT_EQ(ReadTextFile(folder_ + "/plain.csv").value(), "a,b\n1,2\n");
  EXPECT_EQ(ReadTextFile(folder_ + "/packed.csv.gz").value(), "a,b\n1,2\n");
}

TEST_F(ReadTextFileTest, ReportsATruncatedGzip) {
  gzFile file = gzopen((folder_ + "/packed.gz").c_str(), "wb");
  for (int i = 0; i < 10000; ++i) gzprintf(file, "%d,%d\n", i, i * 7919);
  gzclose(file);
  std::filesystem::resize_file(
      folder_ + "/packed.gz",
      std::filesystem::file_size(folder_ + "/packed.gz") / 2);
  EXPECT_EQ(ReadTextFile(folder_ + "/packed.gz").status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(ReadTextFileTest, RefusesWhatIsTooLargeOrNoFile) {
  Write("large", std::string(1000, 'x'));
  EXPECT_EQ(ReadTextFile(folder_ + "/large", 999).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadTextFile(folder_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadTextFile(folder_ + "/none").status().code(),
            absl::StatusCode::kNotFound);
}

// Would hang where the pipe were waited for.
TEST_F(KernelFolderTest, RefusesAPipeInPlaceOfTheManifest) {
  const std::string pipe = folder_ + "/manifest.textproto";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const absl::Status status = LoadKernelFolder(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("manifest.textproto is a pipe, not a file"));
}

TEST_F(ReadTextFileTest, DeviceFactsNeedMultiprocessors) {
  Write("device.textproto", "uuid: \"x\"");
  EXPECT_THAT(
      std::string(
          LoadDeviceFacts(folder_ + "/device.textproto").status().message()),
      HasSubstr("multiprocessors"));
  Write("device.textproto", "uuid: \"x\" multiprocessors: 132");
  EXPECT_EQ(LoadDeviceFacts(folder_ + "/device.textproto")->multiprocessors,
            132);
}

}  // namespace
}  // namespace wavetune
