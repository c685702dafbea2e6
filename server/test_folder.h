// TestFolder: a folder that goes with the test, and a small kernel to put
// there.
#ifndef WAVETUNE_SERVER_TEST_FOLDER_H_
#define WAVETUNE_SERVER_TEST_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace wavetune {

class TestFolder {
 public:
  // In /tmp: a socket's path has 107 characters at most.
  TestFolder() {
    char pattern[] = "/tmp/wavetune_test_XXXXXX";
    const char* const made = mkdtemp(pattern);
    EXPECT_NE(made, nullptr);
    path_ = made == nullptr ? "/tmp" : made;
  }
  ~TestFolder() {
    std::error_code ignored;
    if (path_ != "/tmp") std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }
  void Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }

  // Writes kernels/<name>: four configurations of a copy over n and k.
  void WriteKernel(const std::string& name) const {
    Write("kernels/" + name + "/manifest.textproto",
          "name: \"" + name + "\"\n" + kCopyManifest);
    Write("kernels/" + name + "/copy.cl", "kernel source");
    Write("kernels/" + name + "/reference.cl", "reference source");
  }

 private:
  static constexpr char kCopyManifest[] = R"manifest(
dimensions { name: "n" }
dimensions { name: "k" }
parameters { name: "BLOCK" role: MACRO values: [16, 32] }
parameters { name: "STEP" role: MACRO values: [4, 8] }
mapping {
  tiles: "ceil_div(n, BLOCK)"
  iterations_per_tile: "ceil_div(k, STEP)"
}
implementations { backend: "opencl" sources: "copy.cl" entry: "copy" block_size: "1" }
arguments { name: "in" role: INPUT type: FLOAT32 elements: "n" }
arguments { name: "out" role: OUTPUT type: FLOAT32 elements: "n" }
correctness { source: "reference.cl" entry: "reference" work_items: "n" relative_tolerance: 1e-5 }
default_configuration { key: "BLOCK" value: 32 }
default_configuration { key: "STEP" value: 8 }
representative_problems { axes { dimension: "n" values: [64, 4096] } axes { dimension: "k" values: [128, 1024] } }
)manifest";
  std::string path_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_TEST_FOLDER_H_
