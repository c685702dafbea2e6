#include "server/catalog/disk_kernel_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

DeviceFacts Cpu() { return {.uuid = "CPU-1", .backend = "opencl"}; }

TEST(DiskKernelCatalogTest, ListsBrokenKernelsBesideTheOthers) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  folder.Write("kernels/broken/manifest.textproto", "name: \"broken\" what");
  folder.Write("kernels/.hidden/manifest.textproto", "nonsense");
  std::filesystem::create_directories(folder / "kernels/empty");
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  EXPECT_THAT(catalog.Names(), ElementsAre("copy"));
  const auto entries = catalog.List();
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[0].name, "broken");
  EXPECT_THAT(entries[0].problem, HasSubstr("line 1"));
  EXPECT_EQ(entries[1].configurations, 4);
  EXPECT_EQ(entries[1].problem, "");
  EXPECT_THAT(entries[2].problem, HasSubstr("manifest.textproto"));
  EXPECT_TRUE(absl::IsInvalidArgument(catalog.Get("broken", Cpu()).status()));
  EXPECT_THAT(std::string(catalog.Get("nope", Cpu()).status().message()),
              HasSubstr("copy"));
}

TEST(DiskKernelCatalogTest, AKernelThatOthersCanWriteIsRefused) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  folder.WriteKernel("shared");
  std::filesystem::permissions(folder / "kernels/shared/copy.cl",
                               std::filesystem::perms(0666));
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  EXPECT_THAT(catalog.Names(), ElementsAre("copy"));
  const absl::Status refused = catalog.Get("shared", Cpu()).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("can be written by"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("chmod go-w"));
}

// Kernel "nested" has its source in a folder of its own.
void WriteNestedKernel(const TestFolder& folder) {
  folder.WriteKernel("nested");
  std::stringstream manifest;
  manifest
      << std::ifstream(folder / "kernels/nested/manifest.textproto").rdbuf();
  std::string text = manifest.str();
  const std::string plain = "sources: \"copy.cl\"";
  text.replace(text.find(plain), plain.size(), "sources: \"sub/copy.cl\"");
  folder.Write("kernels/nested/manifest.textproto", text);
  folder.Write("kernels/nested/sub/copy.cl", "kernel source");
}

TEST(DiskKernelCatalogTest, ASubfolderThatOthersCanWriteRefusesItsKernelAlone) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  WriteNestedKernel(folder);
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  EXPECT_THAT(catalog.Names(), ElementsAre("copy", "nested"));
  std::filesystem::permissions(folder / "kernels/nested/sub",
                               std::filesystem::perms(0777));
  EXPECT_TRUE(catalog.Refresh());
  EXPECT_THAT(catalog.Names(), ElementsAre("copy"));
  const auto entries = catalog.List();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_THAT(entries[1].problem,
              HasSubstr("chmod go-w " + (folder / "kernels/nested/sub")));
}

TEST(DiskKernelCatalogTest, AKernelsFolderThatOthersCanWriteIsRefused) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  std::vector<std::string> log;
  DiskKernelCatalog catalog(
      {folder / "kernels"},
      [&log](const std::string& line) { log.push_back(line); });
  for (const int mode : {0700, 0755, 01777}) {
    std::filesystem::permissions(folder / "kernels",
                                 std::filesystem::perms(mode));
    EXPECT_TRUE(catalog.CheckFolders().ok()) << catalog.CheckFolders();
    catalog.Reload();
    EXPECT_THAT(catalog.Names(), ElementsAre("copy"));
  }
  // A start fails; a daemon that runs goes on without these kernels.
  std::filesystem::permissions(folder / "kernels",
                               std::filesystem::perms(0775));
  const absl::Status refused = catalog.CheckFolders();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("chmod go-w " + (folder / "kernels")));
  EXPECT_TRUE(catalog.Refresh());
  EXPECT_THAT(catalog.Names(), ElementsAre());
  EXPECT_THAT(catalog.Problems(), ElementsAre(HasSubstr("chmod go-w")));
  EXPECT_THAT(log, ElementsAre(HasSubstr("chmod go-w")));
}

TEST(DiskKernelCatalogTest, LinksAreWhoseTheyAreButForANamedKernelsFolder) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  folder.Write("outside/readme", "");
  std::filesystem::rename(folder / "kernels/copy", folder / "outside/copy");
  const std::string link = folder / "kernels/copy";
  std::filesystem::create_symlink(folder / "outside/copy", link);
  std::filesystem::create_symlink(folder / "kernels", folder / "named");
  DiskKernelCatalog catalog({folder / "named"});
  EXPECT_TRUE(catalog.CheckFolders().ok());
  catalog.Reload();
  EXPECT_THAT(catalog.Names(), ElementsAre("copy"));
  if (::lchown(link.c_str(), 12345, 0) != 0 ||
      ::lchown((folder / "named").c_str(), 12345, 0) != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  EXPECT_TRUE(catalog.CheckFolders().ok());
  EXPECT_TRUE(catalog.Refresh());
  EXPECT_THAT(catalog.Names(), ElementsAre());
  EXPECT_THAT(catalog.List()[0].problem, HasSubstr("chown -h root"));
}

TEST(DiskKernelCatalogTest, RefreshNoticesEditsNewFoldersAndRemovedOnes) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  EXPECT_FALSE(catalog.Refresh());
  const std::string before = *catalog.Fingerprint("copy", Cpu());

  folder.Write("kernels/copy/copy.cl", "an edited source");
  EXPECT_TRUE(catalog.Refresh());
  EXPECT_FALSE(catalog.Refresh());
  EXPECT_NE(*catalog.Fingerprint("copy", Cpu()), before);

  folder.WriteKernel("second");
  EXPECT_TRUE(catalog.Refresh());
  EXPECT_THAT(catalog.Names(), ElementsAre("copy", "second"));
  std::filesystem::remove_all(folder / "kernels/second");
  EXPECT_TRUE(catalog.Refresh());
  EXPECT_THAT(catalog.Names(), ElementsAre("copy"));
}

TEST(DiskKernelCatalogTest, LogsOnceWhatIsRefusedAndWhatIsValidAgain) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  folder.Write("kernels/late/manifest.textproto", "nonsense");
  std::vector<std::string> log;
  DiskKernelCatalog catalog(
      {folder / "kernels"},
      [&log](const std::string& line) { log.push_back(line); });
  catalog.Reload();
  catalog.Reload();
  ASSERT_THAT(log, ElementsAre(HasSubstr("late is refused: ")));
  folder.WriteKernel("late");
  catalog.Refresh();
  EXPECT_THAT(
      log, ElementsAre(HasSubstr("refused"), HasSubstr("late is valid again")));
}

TEST(DiskKernelCatalogTest, AFolderThatCannotBeReadIsNotAnEmptyOne) {
  const TestFolder folder;
  folder.Write("kernels", "a file: nobody can list it");
  std::vector<std::string> log;
  DiskKernelCatalog catalog(
      {folder / "kernels"},
      [&log](const std::string& line) { log.push_back(line); });
  catalog.Reload();
  EXPECT_THAT(catalog.Problems(), ElementsAre(HasSubstr("cannot be read")));
  EXPECT_THAT(log, SizeIs(1));
  EXPECT_THAT(std::string(catalog.Get("copy", Cpu()).status().message()),
              HasSubstr("cannot be read"));
}

TEST(DiskKernelCatalogTest, FingerprintIsWhatGetSays) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  EXPECT_EQ(*catalog.Fingerprint("copy", Cpu()),
            (*catalog.Get("copy", Cpu()))->files.fingerprint);
  DeviceFacts gpu = Cpu();
  gpu.backend = "cuda";
  EXPECT_EQ(catalog.Fingerprint("copy", gpu).status(),
            catalog.Get("copy", gpu).status());
}

TEST(DiskKernelCatalogTest, AFingerprintFollowsSourcesAndCompiler) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  DeviceFacts device = Cpu();
  const auto before = catalog.Get("copy", device);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ((*before)->files.source->files_size(), 2);
  EXPECT_EQ((*before)->files.source->spec().name(), "copy");
  EXPECT_EQ((*catalog.Get("copy", device))->files.source,
            (*before)->files.source);  // Made once.
  device.compiler = "2";
  EXPECT_NE((*catalog.Get("copy", device))->files.fingerprint,
            (*before)->files.fingerprint);
  folder.Write("kernels/copy/copy.cl", "edited");
  EXPECT_EQ((*catalog.Get("copy", Cpu()))->files.fingerprint,
            (*before)->files.fingerprint);
  catalog.Reload();
  EXPECT_NE((*catalog.Get("copy", Cpu()))->files.fingerprint,
            (*before)->files.fingerprint);
}

TEST(DiskKernelCatalogTest, RefusesABackendWithoutImplementation) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  const auto kernel = catalog.Get("copy", {.uuid = "G", .backend = "cuda"});
  EXPECT_TRUE(absl::IsFailedPrecondition(kernel.status()));
  EXPECT_THAT(std::string(kernel.status().message()), HasSubstr("opencl"));
}

TEST(DiskKernelCatalogTest, ADeviceSeesWhatIsMeantForIt) {
  const TestFolder folder;
  folder.WriteKernel("copy");
  std::stringstream manifest;
  const std::string path = folder / "kernels/copy/manifest.textproto";
  manifest << std::ifstream(path).rdbuf();
  // The default, BLOCK = 32, is for compute capability 9.0 and newer.
  folder.Write("kernels/copy/manifest.textproto", manifest.str() + R"(
implementations {
  backend: "cuda" sources: "copy.cl" entry: "copy" block_size: "1"
  device_predicates: "90 * BLOCK <= 32 * compute_capability"
})");
  DiskKernelCatalog catalog({folder / "kernels"});
  catalog.Reload();
  DeviceFacts gpu{.uuid = "G", .backend = "cuda", .architecture = "sm_90"};
  const auto newer = catalog.Get("copy", gpu);
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_EQ((*newer)->not_meant_for_device, 0);
  EXPECT_EQ((*newer)->spec.default_configuration, Configuration({32, 8}));
  gpu.architecture = "sm_80";
  for (int i = 0; i < 2; ++i) {  // Made, then kept.
    const auto older = catalog.Get("copy", gpu);
    ASSERT_TRUE(older.ok()) << older.status();
    EXPECT_EQ((*older)->not_meant_for_device, 2);
    EXPECT_EQ((*older)->spec.default_configuration, Configuration({16, 4}));
    EXPECT_EQ(EnumerateConfigurations((*older)->spec).size(), 2u);
    EXPECT_EQ((*older)->files.fingerprint, (*newer)->files.fingerprint);
  }
  gpu.architecture = "sm_30";
  EXPECT_TRUE(absl::IsFailedPrecondition(catalog.Get("copy", gpu).status()));
  EXPECT_EQ((*catalog.Spec("copy"))->default_configuration,
            Configuration({32, 8}));
}

TEST(DiskKernelCatalogTest, TheFirstFolderKeepsAName) {
  const TestFolder first;
  const TestFolder second;
  first.WriteKernel("copy");
  second.WriteKernel("copy");
  DiskKernelCatalog catalog({first / "kernels", second / "kernels"});
  catalog.Reload();
  EXPECT_THAT(catalog.Names(), ElementsAre("copy"));
  int refused = 0;
  for (const auto& entry : catalog.List()) {
    if (entry.problem.empty()) continue;
    ++refused;
    EXPECT_THAT(entry.problem, HasSubstr(first.path()));
  }
  EXPECT_EQ(refused, 1);
}

TEST(DiskKernelCatalogTest, AMissingKernelsFolderIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(
      DiskKernelCatalog({"/nonexistent/kernels"}).CheckFolders()));
}

}  // namespace
}  // namespace wavetune
