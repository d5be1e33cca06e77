#include "aggregator_server/telemetry/process_stats.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace blink {
namespace {

std::string ReadProc(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// When the machine started, in Unix time.
double ReadBootTime() {
  for (const absl::string_view line : absl::StrSplit(ReadProc("/proc/stat"), '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    int64_t seconds = 0;
    if (words.size() == 2 && words[0] == "btime" && absl::SimpleAtoi(words[1], &seconds)) return seconds;
  }
  return 0;
}

}  // namespace

std::optional<ProcessStats> ReadProcessStats(pid_t pid) {
  const std::string text = ReadProc(absl::StrCat("/proc/", pid, "/stat"));
  const size_t end_of_name = text.rfind(')');  // the name may hold spaces and brackets
  if (end_of_name == std::string::npos) return std::nullopt;
  // proc(5): from the third field on.
  const std::vector<std::string> fields = absl::StrSplit(text.substr(end_of_name + 1), ' ', absl::SkipEmpty());
  constexpr size_t kUser = 11, kSystem = 12, kStart = 19, kResidentPages = 21;
  uint64_t user = 0, system = 0, start = 0, pages = 0;
  if (fields.size() <= kResidentPages || !absl::SimpleAtoi(fields[kUser], &user) ||
      !absl::SimpleAtoi(fields[kSystem], &system) || !absl::SimpleAtoi(fields[kStart], &start) ||
      !absl::SimpleAtoi(fields[kResidentPages], &pages)) {
    return std::nullopt;
  }
  static const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const double boot = ReadBootTime();
  return ProcessStats{.resident_bytes = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)),
                      .cpu_seconds = static_cast<double>(user + system) / ticks,
                      .start_unix_seconds = boot + static_cast<double>(start) / ticks};
}

DescriptorStats ReadOwnDescriptors() {
  DescriptorStats stats;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error)) {
    ++stats.open;
  }
  if (stats.open > 0) --stats.open;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.limit = limit.rlim_cur;
  return stats;
}

std::optional<DiskStats> ReadDiskStats(const std::string& path) {
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) != 0) return std::nullopt;
  return DiskStats{.free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize,
                   .size_bytes = static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize};
}

}  // namespace blink
