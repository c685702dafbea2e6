#include "base/unix_group.h"

#include <grp.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// A group's entry names all its members: some have thousands.
constexpr size_t kMostBytes = size_t{1} << 20;

// Calls one of the getgr...r functions with as large a buffer as it wants, and
// gives what it finds to `use`. Returns whether there is such a group.
template <typename Get, typename Use>
bool LookUp(const Get& get, const Use& use) {
  for (size_t bytes = 4096; bytes <= kMostBytes; bytes *= 4) {
    std::vector<char> buffer(bytes);
    group entry{};
    group* found = nullptr;
    if (get(&entry, buffer.data(), buffer.size(), &found) == ERANGE) continue;
    if (found == nullptr) return false;
    use(*found);
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<gid_t> FindGroup(const std::string& name) {
  gid_t id = 0;
  const bool named = LookUp(
      [&](group* entry, char* buffer, size_t size, group** found) {
        return ::getgrnam_r(name.c_str(), entry, buffer, size, found);
      },
      [&](const group& found) { id = found.gr_gid; });
  if (named) return id;
  uint32_t number = 0;
  if (absl::SimpleAtoi(name, &number)) {
    // The largest one means "leave it as it is" to the system.
    if (number != static_cast<gid_t>(-1)) return static_cast<gid_t>(number);
    return absl::InvalidArgumentError(absl::StrCat("there is no group ", name,
                                                   ": numbers end at ",
                                                   static_cast<gid_t>(-2)));
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no group \"", name, "\": make it (groupadd --system ", name,
      ", or systemd-sysusers), or name another"));
}

std::string GroupName(gid_t id) {
  std::string name = absl::StrCat(id);
  LookUp(
      [&](group* entry, char* buffer, size_t size, group** found) {
        return ::getgrgid_r(id, entry, buffer, size, found);
      },
      [&](const group& found) { name = found.gr_name; });
  return name;
}

}  // namespace wavetune
