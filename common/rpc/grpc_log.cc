#include "common/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/base/logging.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

void OnGrpcLog(gpr_log_func_args* line) {
  static GrpcLines& lines = *new GrpcLines;  // gRPC's threads may outlive main
  const absl::string_view text(line->message);
  // What a client asked for, and what both sides say of a connection in words of their own.
  const bool ours = absl::StrContains(text, "andshake") || absl::StrContains(text, "server name") ||
                    absl::StrContains(text, "cancel_check_peer");
  const bool is_told = line->severity == GPR_LOG_SEVERITY_ERROR && !ours;
  const auto left_out =
      is_told ? lines.Admit(line->file, line->line, absl::Now()) : std::optional<uint64_t>(std::nullopt);
  if (!left_out.has_value()) {
    spdlog::debug("gRPC: {}", PeerText(text));
    return;
  }
  spdlog::warn("gRPC: {}{}", PeerText(text),
               *left_out > 0 ? absl::StrCat(" (and ", *left_out, " lines like it before)") : "");
}

}  // namespace

std::optional<uint64_t> GrpcLines::Admit(const std::string& file, int line, absl::Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Place& place = places_[{file, line}];
  const bool is_soon = now >= place.written && now - place.written < kQuiet;  // a clock that was set back silences none
  if (is_soon) {
    ++place.left_out;
    return std::nullopt;
  }
  place.written = now;
  return std::exchange(place.left_out, 0);
}

void InstallGrpcLog() {
  // gRPC's threads may outlive main, and the log does not. It exists before what is registered here, so it ends after.
  spdlog::default_logger_raw();
  static const int registered = std::atexit([] { gpr_set_log_function([](gpr_log_func_args*) {}); });
  (void)registered;
  gpr_set_log_function(OnGrpcLog);
}

}  // namespace blink
