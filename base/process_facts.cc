#include "base/process_facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

namespace wavetune {
namespace {

// Of /proc/self/stat after the program's name, which may hold blanks (proc(5)
// counts from 1, and the state is its third).
constexpr size_t kFirstField = 3;
constexpr size_t kUserTicks = 14;
constexpr size_t kKernelTicks = 15;
constexpr size_t kStartTicks = 22;
constexpr size_t kVirtualBytes = 23;

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// When the machine was started, in seconds since the Unix epoch.
double BootTime() {
  std::istringstream lines(ReadAll("/proc/stat"));
  for (std::string word; lines >> word;) {
    double seconds = 0;
    if (word == "btime" && lines >> seconds) return seconds;
  }
  return 0;
}

int64_t CountDescriptors() {
  std::error_code error;
  int64_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end;
       !error && it != end; it.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // One was for looking.
}

}  // namespace

int64_t ReadResidentBytes() {
  std::istringstream pages(ReadAll("/proc/self/statm"));
  int64_t all = 0;
  int64_t resident = 0;
  pages >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

ProcessFacts ReadProcessFacts() {
  ProcessFacts facts;
  const std::string stat = ReadAll("/proc/self/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end != std::string::npos) {
    std::istringstream words(stat.substr(name_end + 1));
    std::array<double, kVirtualBytes + 1> fields{};
    std::string state;
    words >> state;
    for (size_t i = kFirstField + 1; i < fields.size(); ++i) words >> fields[i];
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    facts.cpu_s = (fields[kUserTicks] + fields[kKernelTicks]) / ticks;
    facts.started_at_s = BootTime() + fields[kStartTicks] / ticks;
    facts.virtual_bytes = static_cast<int64_t>(fields[kVirtualBytes]);
  }
  facts.resident_bytes = ReadResidentBytes();
  facts.open_descriptors = CountDescriptors();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    facts.most_descriptors = static_cast<int64_t>(limit.rlim_cur);
  return facts;
}

}  // namespace wavetune
