#include "common/base/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace blink {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Nothing where there is no such file, and for "max".
std::optional<uint64_t> ReadNumber(const std::string& path) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(ReadText(path), &value)) return std::nullopt;
  return value;
}

// The number behind `name` in lines of "name number".
std::optional<uint64_t> FindNumber(const std::string& text, absl::string_view name) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    uint64_t value = 0;
    if (words.size() >= 2 && words[0] == name && absl::SimpleAtoi(words[1], &value)) return value;
  }
  return std::nullopt;
}

void Limit(uint64_t total, uint64_t available, const char* of, MachineMemory& memory) {
  if (total < memory.total) {
    memory.total = total;
    memory.total_of = of;
  }
  if (available < memory.available) {
    memory.available = available;
    memory.available_of = of;
  }
}

uint64_t Less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// What the files of a version of control groups are called.
struct GroupFiles {
  const char *folder, *limit, *used, *of_cache;
};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file"};

void LimitByGroup(const std::string& folder, const GroupFiles& files, MachineMemory& memory) {
  const std::optional<uint64_t> limit = ReadNumber(absl::StrCat(folder, "/", files.limit));
  if (!limit) return;
  const uint64_t used = ReadNumber(absl::StrCat(folder, "/", files.used)).value_or(0);
  // The kernel gives back what files are cached in before it refuses memory.
  const uint64_t cache = FindNumber(ReadText(folder + "/memory.stat"), files.of_cache).value_or(0);
  Limit(*limit, Less(*limit, Less(used, cache)), "the control group", memory);
}

// The group and all that it is in. In a container its own is the root, whatever its name is outside.
void LimitByGroups(const std::string& root, std::string group, const GroupFiles& files, MachineMemory& memory) {
  for (; group.size() > 1; group.erase(group.rfind('/'))) {
    LimitByGroup(absl::StrCat(root, files.folder, group), files, memory);
    if (group.rfind('/') == std::string::npos) break;
  }
  LimitByGroup(absl::StrCat(root, files.folder), files, memory);
}

}  // namespace

MachineMemory FindMachineMemory(const std::string& root) {
  MachineMemory memory;
  const std::string machine = ReadText(root + "/proc/meminfo");
  if (const auto total = FindNumber(machine, "MemTotal:"); total.has_value()) {
    Limit(*total * 1024, FindNumber(machine, "MemAvailable:").value_or(*total) * 1024, "this machine", memory);
  }
  for (const absl::string_view line : absl::StrSplit(ReadText(root + "/proc/self/cgroup"), '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));  // number:controllers:group
    if (parts.size() != 3) continue;
    if (parts[1].empty()) LimitByGroups(root, parts[2], kVersion2, memory);
    if (absl::StrContains(absl::StrCat(",", parts[1], ","), ",memory,")) {
      LimitByGroups(root, parts[2], kVersion1, memory);
    }
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    uint64_t pages = 0;
    const std::string sizes = ReadText(root + "/proc/self/statm");
    if (!absl::SimpleAtoi(sizes.substr(0, sizes.find(' ')), &pages)) pages = 0;
    Limit(limit.rlim_cur, Less(limit.rlim_cur, pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))), "ulimit -v",
          memory);
  }
  return memory;
}

std::string FormatBytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return absl::StrFormat("%.*f %s", unit == 0 || bytes >= 99.95 ? 0 : 1, bytes, kUnits[unit]);
}

}  // namespace blink
