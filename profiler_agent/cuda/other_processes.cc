#include "profiler_agent/cuda/other_processes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace wavetune {
namespace {

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The fourth field of "42 (a name) S 1 ...": names may hold anything.
std::optional<int64_t> ParentIn(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(stat.substr(name_end + 1));
  std::string state;
  int64_t parent = 0;
  if (!(rest >> state >> parent)) return std::nullopt;
  return parent;
}

// As WorkerCommand makes it; arguments end with zeros.
bool IsCudaWorker(const std::string& command_line) {
  static constexpr char kArguments[] = "worker\0--backend\0cuda";
  return absl::StrContains(
      command_line, absl::string_view(kArguments, sizeof(kArguments) - 1));
}

}  // namespace

std::optional<int> OtherProcesses(const std::vector<int64_t>& on_device,
                                  const ProcessView& view) {
  const auto ours = [&](int64_t pid) {
    const auto it = view.parents.find(pid);
    return it != view.parents.end() && it->second == view.agent;
  };
  const auto all = static_cast<int>(on_device.size());
  const auto own =
      static_cast<int>(std::count_if(on_device.begin(), on_device.end(), ours));
  const bool visible =
      std::all_of(on_device.begin(), on_device.end(),
                  [&](int64_t pid) { return view.parents.contains(pid); });
  if (own > 0 || view.own_workers == 0 || (all > 0 && visible)) {
    return all - own;  // Workers of ours may all be on other devices.
  }
  // Ids of another namespace: ours are among them, or the list is kept from us.
  if (all > view.own_workers) return all - view.own_workers;
  return std::nullopt;
}

ProcessView ReadProcesses(const std::string& proc, int64_t agent,
                          int64_t self) {
  ProcessView view = {.agent = agent};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(proc, error)) {
    const std::string name = entry.path().filename().string();
    int64_t pid = 0;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    const std::optional<int64_t> parent =
        ParentIn(Content(absl::StrCat(entry.path().string(), "/stat")));
    if (!parent.has_value()) continue;
    view.parents[pid] = *parent;
    if (*parent != agent || pid == self) continue;
    if (IsCudaWorker(
            Content(absl::StrCat(entry.path().string(), "/cmdline")))) {
      ++view.own_workers;
    }
  }
  return view;
}

}  // namespace wavetune
