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
    "base",   "model",          "fit",    "usage", "proto", "formats", "launch",
    "server", "profiler_agent", "client", "cli",   "tests"};

// What every room speaks of; the rest of the API is the client's.
const Prefixes kVocabulary = {
    "wavetune/configuration.h",    "wavetune/coordinates.h",
    "wavetune/decision.h",         "wavetune/dimension.h",
    "wavetune/expected_routing.h", "wavetune/explanation.h",
    "wavetune/problem.h"};

// What the files of one layer may include. Standard and compiler headers are
// always allowed.
struct Layer {
  std::string_view name;
  Prefixes own;  // paths from the root
  bool any_library =
      false;  // third-party headers: any (see Confined), or only those below
  Prefixes libraries = {};
};

// Floors from the ground up (docs/architecture.md): each may use those below
// it that it names.
const Layer kApi = {"api", {"wavetune/"}, false, {"absl/"}};
const Layer kBase = {
    "base",
    {"base/"},
    false,
    // Files, sockets, processes, signals and users of a Unix system, and
    // the logs of the two libraries that write their own.
    {"absl/", "openssl/", "fcntl.h", "sys/resource.h", "sys/socket.h",
     "sys/stat.h", "sys/types.h", "sys/un.h", "sys/wait.h", "grp.h", "poll.h",
     "pwd.h", "sched.h", "signal.h", "unistd.h", "google/protobuf/stubs/",
     "grpc/support/",
     // Options of programs, and what systemd is told.
     "CLI/", "systemd/sd-daemon.h"}};
const Layer kModel = {"model", {"model/", "base/"}, false, {"absl/"}};
const Layer kFit = {"fit", {"fit/", "model/", "base/"}, false, {"absl/"}};
const Layer kUsage = {"usage", {"usage/", "model/", "base/"}, false, {"absl/"}};
const Layer kFormats = {"formats",
                        {"formats/", "proto/", "model/", "base/"},
                        false,
                        // zlib: traces and manifests may be gzip files; JSON:
                        // models' config.json.
                        {"absl/", "google/protobuf/", "google/rpc/", "grpcpp/",
                         "nlohmann/", "zlib.h", "sys/stat.h", "unistd.h"}};
const Layer kLaunch = {
    "launch",
    {"launch/", "model/", "base/", "wavetune/exported_kernel.h"},
    false,
    {"absl/", "cuda.h", "dlfcn.h",
     // The launch descriptors of an export.
     "nlohmann/"}};
const Layer kServerCore = {
    "server_core",
    {"server/catalog/", "server/jobs/", "server/store/", "server/usage/",
     "fit/", "usage/", "model/", "base/"},
    false,
    {"absl/"}};
const Layer kServer = {
    "server",
    {"server/", "formats/", "fit/", "usage/", "proto/", "model/", "base/"},
    true};
const Layer kMeasure = {"measure",
                        {"profiler_agent/measure/", "model/", "base/"},
                        false,
                        {"absl/"}};
const Layer kAgent = {
    "agent",
    {"profiler_agent/", "formats/", "launch/", "proto/", "model/", "base/"},
    true};
const Layer kClient = {
    "client",
    {"client/", "wavetune/", "formats/", "usage/", "proto/", "model/", "base/"},
    true};
const Layer kCli = {"cli",
                    {"cli/", "client/", "wavetune/", "formats/", "fit/",
                     "usage/", "launch/", "proto/", "model/", "base/"},
                    true};
const Layer kTests = {"tests", {}, true};

// All of ours; tests may use any of it.
const Prefixes kOurs = {"base/",    "model/",          "fit/",    "usage/",
                        "proto/",   "formats/",        "launch/", "server/",
                        "client/",  "profiler_agent/", "cli/",    "tests/",
                        "kernels/", "wavetune/"};

// The folders of model/ and fit/: what of the same room the files of each may
// include besides those of their own.
struct Folder {
  std::string_view name;
  Prefixes others;
};
const Folder kFolderFloors[] = {
    {"model/kernel/", {}},
    {"model/text/", {"model/kernel/"}},
    {"model/table/", {"model/kernel/"}},
    {"model/decide/", {"model/kernel/", "model/table/"}},
    {"model/testing/", {"model/"}},
    {"fit/testing/", {"fit/"}},
    {"fit/samples/", {}},
    {"fit/models/", {"fit/samples/", "fit/profile.h"}},
    {"fit/plan/", {"fit/samples/", "fit/models/", "fit/profile.h"}},
    {"fit/build/", {"fit/samples/", "fit/models/", "fit/profile.h"}},
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

// Of the daemon's pure folders these touch the world: RocksDB, protobuf, or
// what is attached.
bool IsServerCore(std::string_view path) {
  return StartsWithAny(path, {"server/catalog/", "server/jobs/",
                              "server/store/", "server/usage/"}) &&
         !StartsWithAny(
             BaseName(path),
             {"defaults_in_use", "rocksdb_", "stored_event", "stored_format",
              "stored_records", "stored_usage", "stored_workload",
              "disk_kernel_catalog", "event_texts", "retention_task",
              "shipped_tables", "staleness_watch", "table_admission",
              "node_staleness", "table_lookup", "workload_catalog"});
}

const Layer& LayerOf(std::string_view path) {
  if (path.starts_with("base/")) return kBase;
  if (path.starts_with("model/")) return kModel;
  if (path.starts_with("fit/")) return kFit;
  if (path.starts_with("usage/")) return kUsage;
  if (StartsWithAny(path, {"formats/", "proto/"})) return kFormats;
  if (path.starts_with("launch/")) return kLaunch;
  if (IsServerCore(path)) return kServerCore;
  if (path.starts_with("server/")) return kServer;
  if (path.starts_with("profiler_agent/measure/")) return kMeasure;
  if (path.starts_with("profiler_agent/")) return kAgent;
  if (path.starts_with("client/include/")) return kApi;
  if (path.starts_with("client/")) return kClient;
  if (path.starts_with("cli/")) return kCli;
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
  return &layer == &kModel || &layer == &kFit || &layer == &kUsage ||
         &layer == &kServerCore || &layer == &kMeasure;
}

bool IsPure(const Layer& layer) {
  return &layer == &kModel || &layer == &kFit || &layer == &kUsage;
}

bool IsCudaHeader(std::string_view include) {
  static const std::regex* const kCuda = new std::regex(
      R"((cuda|nvrtc|nvml|cudart|cublas|cupti|cute|cutlass|nvJitLink)[A-Za-z0-9_]*(\.h|\.hpp|\.cuh|/.*))");
  return std::regex_match(include.begin(), include.end(), *kCuda);
}

// Whether a file of one folder of model/ or fit/ includes another that it may
// not.
bool BreaksFolderFloors(std::string_view path, std::string_view include) {
  for (const Folder& folder : kFolderFloors) {
    if (!path.starts_with(folder.name)) continue;
    const std::string_view room = folder.name.substr(0, folder.name.find('/'));
    return include.starts_with(room) && !include.starts_with(folder.name) &&
           !StartsWithAny(include, folder.others);
  }
  // What stands straight in fit/ is for all of it. A folder that is not in the
  // list, and a file straight in model/, may include nothing of their room.
  return StartsWithAny(path, {"model/", "fit/"}) && path != "fit/profile.h" &&
         include.starts_with(path.substr(0, path.find('/') + 1));
}

// Tests may use all of their own component, and every room that is no
// component's.
bool TestsMayInclude(std::string_view path, std::string_view include) {
  return StartsWithAny(include, {"base/", "model/", "fit/", "usage/", "proto/",
                                 "formats/"}) ||
         include.starts_with(path.substr(0, path.find('/') + 1));
}

// Returns what is wrong with `include` in the file `path`, or nothing.
std::string Judge(const std::string& path, const std::string& include,
                  bool quoted) {
  const Layer& layer = LayerOf(path);
  const bool test_code = IsTestCode(path);

  if (StartsWithAny(include, kOurs)) {
    if (test_code && include.starts_with("tests/lib/")) return "";
    if (!test_code && BreaksFolderFloors(path, include)) {
      return "this folder may not include that one (kFolderFloors in "
             "tests/component/include_boundary.cc, docs/architecture.md)";
    }
    if (&layer == &kTests || StartsWithAny(include, layer.own)) return "";
    if (&layer != &kBase && StartsWithAny(include, kVocabulary)) return "";
    if (test_code && TestsMayInclude(path, include)) return "";
    return "layer '" + std::string(layer.name) +
           "' may not include this (docs/architecture.md has the floors)";
  }
  // Confined libraries, whatever the layer.
  if (include.starts_with("rocksdb/") &&
      !BaseName(path).starts_with("rocksdb_")) {
    return "only rocksdb_* files include RocksDB";
  }
  if (IsCudaHeader(include) &&
      !StartsWithAny(path, {"launch/", "profiler_agent/cuda/", "kernels/",
                            "tests/gpu/", "tests/kernels/"})) {
    return "only kernels, launch/ and profiler_agent/cuda/ include "
           "CUDA";
  }
  if (include.starts_with("prometheus/") &&
      !path.starts_with("server/metrics/")) {
    return "only server/metrics/ includes prometheus/";
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
    if (IsPure(layer) && !test_code && IsIoHeader(include)) {
      return "the pure rooms do no I/O and start no threads";
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
      std::string message = file.path;
      message.append(":").append(std::to_string(number));
      message.append(": #include of '").append(include);
      message.append("': ").append(wrong);
      breaches.push_back({file.path, number, include, std::move(message)});
    }
  }
  return breaches;
}

}  // namespace wavetune::testing
