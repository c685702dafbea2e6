#include "tests/component/include_boundary.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;
using Prefixes = std::vector<std::string_view>;

constexpr std::initializer_list<const char*> kFolders = {
    "model",          "proto",  "cuda_launch", "server",
    "profiler_agent", "client", "tests"};

// What the files of one layer may include. Standard and compiler headers are
// always allowed.
struct Layer {
  std::string_view name;
  Prefixes own;  // paths from the root
  bool any_library =
      false;  // third-party headers: any (see Confined), or only those below
  Prefixes libraries = {};
};

const Layer kModel = {"model", {"model/"}, false, {"absl/", "openssl/"}};
const Layer kWire = {
    "wire",
    {"proto/", "model/"},
    false,
    // zlib: traces and manifests may be gzip files. The rest:
    // whose a socket folder is, what is a file, and how
    // many may be open.
    {"absl/", "google/protobuf/", "google/rpc/", "grpcpp/", "grpc/", "zlib.h",
     "fcntl.h", "sys/resource.h", "sys/socket.h", "sys/stat.h", "sys/un.h",
     "grp.h", "poll.h", "pwd.h", "signal.h", "unistd.h",
     // The launch descriptors of an export.
     "nlohmann/"}};
// What measures and what launches share of CUDA; who else may include CUDA may
// include this.
const Layer kCudaLaunch = {"cuda_launch",
                           {"cuda_launch/", "model/"},
                           false,
                           {"absl/", "cuda.h", "cuda_launch/"}};
const Layer kRegistry = {
    "registry", {"server/registry/", "model/"}, false, {"absl/"}};
const Layer kAgent = {"agent", {"profiler_agent/", "model/"}, false, {"absl/"}};
const Layer kServer = {"server", {"server/", "proto/", "model/"}, true};
const Layer kAgentIo = {
    "agent_io", {"profiler_agent/", "proto/", "model/"}, true};
const Layer kClient = {"client", {"client/", "proto/", "model/"}, true};
const Layer kTests = {
    "tests",
    {"tests/", "client/", "server/", "profiler_agent/", "proto/", "model/"},
    true};

// The folders of model/: what the files of each may include besides those of
// their own. What is straight in model/ may be included everywhere.
struct ModelFolder {
  std::string_view name;
  Prefixes others;
};
const ModelFolder kModelFolders[] = {
    {"model/kernel/", {}},
    {"model/table/", {"model/kernel/"}},
    {"model/decision/", {"model/kernel/", "model/table/"}},
    {"model/samples/", {"model/kernel/"}},
    {"model/fit/", {"model/kernel/", "model/table/", "model/samples/"}},
    {"model/profile/",
     {"model/kernel/", "model/table/", "model/samples/", "model/fit/"}},
    {"model/plan/",
     {"model/kernel/", "model/table/", "model/decision/", "model/samples/",
      "model/fit/", "model/profile/"}},
    {"model/table_fit/",
     {"model/kernel/", "model/table/", "model/samples/", "model/fit/",
      "model/profile/"}},
};

bool StartsWithAny(std::string_view text, const Prefixes& prefixes) {
  return std::any_of(
      prefixes.begin(), prefixes.end(),
      [text](std::string_view p) { return text.starts_with(p); });
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 == 0
}

// Doubles, contract suites, matchers and tests: they may use GoogleTest and
// tests/lib.
bool IsTestCode(std::string_view path) {
  const std::string_view base = BaseName(path);
  return path.starts_with("tests/") || path.find("/testing/") != path.npos ||
         StartsWithAny(base, {"fake_", "faulty_", "mock_"}) ||
         base.find("test") != base.npos || base.find("contract") != base.npos ||
         base.find("matchers") != base.npos ||
         base.find("_fixture") != base.npos ||
         base.find("benchmark") != base.npos;
}

// Files straight in profiler_agent/ are the logic; its subfolders and main.cc
// touch the world.
bool IsAgentCore(std::string_view path) {
  constexpr std::string_view kFolder = "profiler_agent/";
  return path.starts_with(kFolder) &&
         path.find('/', kFolder.size()) == path.npos &&
         BaseName(path) != "main.cc";
}

const Layer& LayerOf(std::string_view path) {
  if (path.starts_with("model/")) return kModel;
  if (path.starts_with("proto/")) return kWire;
  if (path.starts_with("cuda_launch/")) return kCudaLaunch;
  if (path.starts_with("server/registry/")) return kRegistry;
  if (path.starts_with("server/")) return kServer;
  if (IsAgentCore(path)) return kAgent;
  if (path.starts_with("profiler_agent/")) return kAgentIo;
  if (path.starts_with("client/")) return kClient;
  return kTests;
}

bool IsStandardHeader(std::string_view include) {
  static const std::regex* const kStandard = new std::regex(
      R"((std(int|def|io|lib|bool|arg)|string|math|float|limits|errno|assert|time|inttypes)\.h)"
      R"(|((x86|imm|[a-z]mm)intrin|arm_neon|arm_acle|cpuid)\.h|[a-z0-9_]+)");
  return std::regex_match(include.begin(), include.end(), *kStandard);
}

// Core code starts no threads and does no I/O (its tests may).
bool IsIoHeader(std::string_view include) {
  return include == "fstream" || include == "iostream" ||
         include == "filesystem" || include == "cstdio" ||
         include == "stdio.h" || include == "thread" || include == "future";
}

// The layers built for ThreadSanitizer. There the packaged absl::Mutex is not
// instrumented: every use of it looks like a data race.
bool IsSanitizedForThreads(const Layer& layer) {
  return &layer == &kModel || &layer == &kRegistry || &layer == &kAgent;
}

bool IsCudaHeader(std::string_view include) {
  static const std::regex* const kCuda = new std::regex(
      R"((cuda|nvrtc|nvml|cudart|cublas|cupti|cute|cutlass|nvJitLink)[A-Za-z0-9_]*(\.h|\.hpp|\.cuh|/.*))");
  return std::regex_match(include.begin(), include.end(), *kCuda);
}

// Whether a file of one folder of model/ includes another that it may not.
bool BreaksModelFolders(std::string_view path, std::string_view include) {
  constexpr std::string_view kModelPrefix = "model/";
  if (!include.starts_with(kModelPrefix) ||
      include.find('/', kModelPrefix.size()) == include.npos) {
    return false;
  }
  for (const ModelFolder& folder : kModelFolders) {
    if (path.starts_with(folder.name)) {
      return !include.starts_with(folder.name) &&
             !StartsWithAny(include, folder.others);
    }
  }
  // Straight in model/, or in a folder that is not in the list.
  return path.starts_with(kModelPrefix);
}

// Returns what is wrong with `include` in the file `path`, or nothing.
std::string Judge(const std::string& path, const std::string& include,
                  bool quoted) {
  const Layer& layer = LayerOf(path);
  const bool test_code = IsTestCode(path);
  const Prefixes ours = {"model/",  "proto/", "server/", "profiler_agent/",
                         "client/", "tests/", "kernels/"};

  if (StartsWithAny(include, ours)) {
    if (test_code && include.starts_with("tests/lib/")) return "";
    // The agent's logic shares its folder with what does I/O: it may not reach
    // into the subfolders.
    const bool reaches_down = &layer == &kAgent &&
                              include.starts_with("profiler_agent/") &&
                              !IsAgentCore(include);
    if (!test_code && BreaksModelFolders(path, include)) {
      return "this folder of model/ may not include that one (kModelFolders in "
             "tests/component/include_boundary.cc, docs/architecture.md)";
    }
    if (StartsWithAny(include, layer.own) && !reaches_down) return "";
    return "layer '" + std::string(layer.name) +
           "' may not include this; components meet only in proto/";
  }
  // Confined libraries, whatever the layer.
  if (include.starts_with("rocksdb/") &&
      !BaseName(path).starts_with("rocksdb_")) {
    return "only rocksdb_* files include RocksDB";
  }
  if (IsCudaHeader(include) &&
      !StartsWithAny(path, {"cuda_launch/", "profiler_agent/cuda/",
                            "client/launch/", "tests/gpu/"})) {
    return "only cuda_launch/, profiler_agent/cuda/ and client/launch/ include "
           "CUDA";
  }
  if (include.starts_with("CL/") &&
      !path.starts_with("profiler_agent/opencl/")) {
    return "only profiler_agent/opencl/ includes OpenCL";
  }
  if (StartsWithAny(include, {"gtest/", "gmock/", "benchmark/"})) {
    return test_code ? "" : "only tests, fakes and benchmarks include this";
  }
  if (include.starts_with("absl/synchronization/") &&
      IsSanitizedForThreads(layer)) {
    return "use std::mutex here: the packaged absl::Mutex is not instrumented "
           "and gives false ThreadSanitizer reports";
  }
  if (IsStandardHeader(include)) {
    if (&layer == &kModel && !test_code && IsIoHeader(include)) {
      return "model does no I/O and starts no threads";
    }
    return "";
  }
  if (quoted && include.find('/') == include.npos) {
    return "write the path from the root of the repository";
  }
  // Tests of core code may use what the operating system offers.
  if (layer.any_library || test_code) return "";
  if (StartsWithAny(include, layer.libraries)) return "";
  return "layer '" + std::string(layer.name) + "' may not use this library";
}

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool IsSource(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cc" || extension == ".c" ||
         extension == ".hpp" || extension == ".cpp" || extension == ".inc" ||
         extension == ".cu" || extension == ".cuh";
}

}  // namespace

std::vector<SourceFile> ReadTree(const std::string& root) {
  std::vector<SourceFile> files;
  for (const char* folder : kFolders) {
    std::error_code error;
    fs::recursive_directory_iterator it(fs::path(root) / folder, error);
    if (error) continue;
    for (const fs::directory_entry& entry : it) {
      if (!entry.is_regular_file() || !IsSource(entry.path())) continue;
      const std::string path =
          fs::relative(entry.path(), root).generic_string();
      // Kernels are data: they include what lies beside them.
      if (path.starts_with("tests/data/")) continue;
      files.push_back({path, ReadFile(entry.path())});
    }
  }
  std::sort(
      files.begin(), files.end(),
      [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<Breach> CheckIncludes(const std::vector<SourceFile>& files) {
  static const std::regex* const kInclude =
      new std::regex(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::vector<Breach> breaches;
  for (const SourceFile& file : files) {
    std::istringstream lines(file.text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      std::smatch match;
      if (!std::regex_search(line, match, *kInclude)) continue;
      const std::string include = match[2];
      const std::string wrong = Judge(file.path, include, match[1] == "\"");
      if (wrong.empty()) continue;
      breaches.push_back({file.path, number, include,
                          file.path + ":" + std::to_string(number) +
                              ": #include of '" + include + "': " + wrong});
    }
  }
  return breaches;
}

}  // namespace wavetune::testing
