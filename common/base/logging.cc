#include "common/base/logging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/log_file.h"
#include "nlohmann/json.hpp"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_sinks.h"

namespace blink {
namespace {

struct Level {
  const char* name;
  spdlog::level::level_enum level;
};
constexpr std::array<Level, 4> kLevels = {{{"debug", spdlog::level::debug},
                                           {"info", spdlog::level::info},
                                           {"warning", spdlog::level::warn},
                                           {"error", spdlog::level::err}}};

constexpr char kTimePattern[] = "%Y-%m-%dT%H:%M:%S.%eZ";

// The message as a JSON string.
class JsonText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& line) override {
    const nlohmann::json text(std::string(message.payload.data(), message.payload.size()));
    const std::string quoted = text.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
    line.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<JsonText>(); }
};

// The priority of sd-daemon(3), which is that of syslog.
class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& line) override {
    const int priority = message.level >= spdlog::level::critical ? 2
                         : message.level == spdlog::level::err    ? 3
                         : message.level == spdlog::level::warn   ? 4
                         : message.level == spdlog::level::info   ? 6
                                                                  : 7;
    const std::string prefix = absl::StrCat("<", priority, ">");
    line.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<JournalPriority>(); }
};

// systemd names in JOURNAL_STREAM the device and inode of the stream that leads to its journal.
bool LeadsToJournal(int fd) {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat info {};
  if (stream == nullptr || ::fstat(fd, &info) != 0) return false;
  const std::pair<std::string, std::string> parts = absl::StrSplit(stream, absl::MaxSplits(':', 1));
  uint64_t device = 0, inode = 0;
  return absl::SimpleAtoi(parts.first, &device) && absl::SimpleAtoi(parts.second, &inode) && device == info.st_dev &&
         inode == info.st_ino;
}

std::unique_ptr<spdlog::formatter> MakeFormatter(const std::string& format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  if (format == "json") {
    formatter->add_flag<JsonText>('*').set_pattern(
        absl::StrCat(R"({"time":")", kTimePattern, R"(","level":"%l","program":"%n","message":%*})"));
  } else if (format == "journal") {
    formatter->add_flag<JournalPriority>('*').set_pattern("%*%v");
  } else {
    formatter->set_pattern(absl::StrCat(kTimePattern, " %l %n: %v"));
  }
  return formatter;
}

std::shared_ptr<LogFile>& CurrentFile() {
  static auto& file = *new std::shared_ptr<LogFile>;  // threads may log after main has ended
  return file;
}

}  // namespace

absl::Status InitLogging(const std::string& program, const LogOptions& options) {
  const auto level =
      std::find_if(kLevels.begin(), kLevels.end(), [&](const Level& known) { return options.level == known.name; });
  if (level == kLevels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown log level \"", options.level, "\": use debug, info, warning or error"));
  }
  std::string format = options.format;
  if (format == "auto") format = options.file.empty() && LeadsToJournal(STDERR_FILENO) ? "journal" : "text";
  if (format != "text" && format != "json" && format != "journal") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown log format \"", format, "\": use auto, text, json or journal"));
  }
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (options.file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    absl::StatusOr<std::shared_ptr<LogFile>> file = LogFile::Open(options.file);
    if (!file.ok()) return file.status();
    CurrentFile() = *file;
    sink = *std::move(file);
  }
  auto logger = std::make_shared<spdlog::logger>(program, std::move(sink));
  logger->set_formatter(MakeFormatter(format));
  logger->set_level(level->level);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

absl::Status InitLogging(const std::string& program, const std::string& level) {
  return InitLogging(program, LogOptions{.level = level, .format = "text"});
}

void ReopenLogFile() {
  if (CurrentFile() != nullptr) CurrentFile()->Reopen();
}

std::string ChangeLogLevel(int more) {
  const spdlog::level::level_enum now = spdlog::get_level();
  const auto found =
      std::find_if(kLevels.begin(), kLevels.end(), [&](const Level& level) { return level.level == now; });
  const int place = static_cast<int>(found - kLevels.begin());
  const int last = static_cast<int>(kLevels.size()) - 1;
  const Level& chosen = kLevels[std::clamp(place - more, 0, last)];
  spdlog::set_level(chosen.level);
  return chosen.name;
}

}  // namespace blink
