// Runs a fuzz target without a fuzzing engine: over its seeds, then over
// mutations of them that are the same in every run. So each target is also a
// test, with any compiler and any sanitizer.
//
//   WAVETUNE_FUZZ_SECONDS=300 build/asan/bin/decode_table_fuzz_test
//
// runs mutations for that long instead of a fixed number, WAVETUNE_FUZZ_RUNS so
// many of them, WAVETUNE_FUZZ_SEED=2 others than those of seed 1. What crashes
// is written to <target>.crash in the current folder; put it into
// tests/fuzz/corpus/<target> with the fix.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/lib/environment.h"
#include "tests/lib/lcg.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// There under a sanitizer only.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(
    void (*callback)());

namespace wavetune {
namespace {

using testing::Lcg;
using testing::NumberFrom;

constexpr int64_t kMutations = 20000;

// For the crash handler, which may not touch anything that allocates.
const std::string* current_input = nullptr;

void SaveCurrentInput() {
  if (current_input == nullptr) return;
  const int file = open(WAVETUNE_FUZZ_NAME ".crash",
                        O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
  if (file < 0) return;
  if (write(file, current_input->data(), current_input->size()) >= 0) {
    close(file);
  }
}

void OnSignal(int signal) {
  SaveCurrentInput();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void SaveInputOnCrash() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(SaveCurrentInput);
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) {
    std::signal(signal, OnSignal);
  }
}

void RunOne(const std::string& input) {
  current_input = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
  current_input = nullptr;
}

// The files of the corpus folders, in name order.
std::vector<std::string> ReadSeeds() {
  std::vector<std::filesystem::path> paths;
  std::istringstream folders(WAVETUNE_FUZZ_CORPUS);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds = {""};
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    seeds.push_back(content.str());
  }
  return seeds;
}

size_t Place(Lcg& random, size_t size) {
  return static_cast<size_t>(random.Below(static_cast<int64_t>(size)));
}

// Numbers at which checks tend to be off by one.
constexpr uint8_t kEdges[] = {0, 1, 2, 0x7f, 0x80, 0xf0, 0xfe, 0xff};

void MutateOnce(Lcg& random, const std::vector<std::string>& seeds,
                std::string& input) {
  if (input.empty()) {
    input.push_back(static_cast<char>(random.Below(256)));
    return;
  }
  const size_t at = Place(random, input.size());
  const size_t length =
      1 + Place(random, std::min<size_t>(16, input.size() - at));
  const std::string& other = seeds[Place(random, seeds.size())];
  switch (random.Below(8)) {
    case 0:
    case 1:
      input[at] = static_cast<char>(input[at] ^ (1 << random.Below(8)));
      break;
    case 2:
      input[at] = static_cast<char>(kEdges[random.Below(8)]);
      break;
    case 3:
      input[at] = static_cast<char>(input[at] + random.Between(-2, 2));
      break;
    case 4:
      input.erase(at, length);
      break;
    case 5:
      input.insert(at, input.substr(at, length));
      break;
    case 6:
      input.resize(at);
      break;
    default:
      if (!other.empty()) {
        const size_t from = Place(random, other.size());
        input.replace(at, length, other.substr(from, length));
      }
  }
}

std::string Mutate(Lcg& random, const std::vector<std::string>& seeds) {
  std::string input = seeds[Place(random, seeds.size())];
  for (int64_t i = random.Between(1, 4); i > 0; --i) {
    MutateOnce(random, seeds, input);
  }
  return input;
}

TEST(Fuzz, SeedsAndMutations) {
  const std::vector<std::string> seeds = ReadSeeds();
  ASSERT_GT(seeds.size(), 1u) << "no seeds in " << WAVETUNE_FUZZ_CORPUS;
  SaveInputOnCrash();
  for (const std::string& seed : seeds) RunOne(seed);

  const int64_t seconds = NumberFrom("WAVETUNE_FUZZ_SECONDS", 0);
  const int64_t most = NumberFrom("WAVETUNE_FUZZ_RUNS", kMutations);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  Lcg random(static_cast<uint64_t>(NumberFrom("WAVETUNE_FUZZ_SEED", 1)));
  int64_t runs = 0;
  while (seconds > 0 ? Clock::now() < end : runs < most) {
    RunOne(Mutate(random, seeds));
    ++runs;
  }
  RecordProperty("mutations", std::to_string(runs));
}

}  // namespace
}  // namespace wavetune
