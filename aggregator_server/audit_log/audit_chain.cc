#include "aggregator_server/audit_log/audit_chain.h"

#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kBeforeHash = ",\"hash\":\"";
constexpr absl::string_view kAfterHash = "\"}";
constexpr size_t kHashCharacters = 64;

std::string HashOf(absl::string_view bytes) { return DigestToHex(Sha256Of(bytes)); }

// The line's part that is hashed, and the hash that stands behind it. nullopt: it is no such line.
struct Halves {
  absl::string_view body;
  absl::string_view hash;
};
std::optional<Halves> Split(absl::string_view line) {
  const size_t tail = kBeforeHash.size() + kHashCharacters + kAfterHash.size();
  if (line.size() < tail || !absl::EndsWith(line, kAfterHash)) return std::nullopt;
  Halves halves{line.substr(0, line.size() - tail), line.substr(line.size() - tail)};
  if (!absl::ConsumePrefix(&halves.hash, kBeforeHash)) return std::nullopt;
  halves.hash = halves.hash.substr(0, kHashCharacters);
  return halves;
}

}  // namespace

std::string AuditChain::Extend(const AuditRecord& record, absl::Time now) {
  // Whoever calls may send megabytes; a record stays small.
  const auto cut = [](const std::string& text) { return text.substr(0, kAuditTextMax); };
  const Json json = {
      {"number", records + 1},          {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", now, absl::UTCTimeZone())},
      {"event", cut(record.event)},     {"who", cut(record.who)},
      {"peer", cut(record.peer)},       {"action", cut(record.action)},
      {"round", cut(record.round_id)},  {"detail", cut(record.detail)},
      {"outcome", cut(record.outcome)}, {"previous", head}};
  std::string line = json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  line.pop_back();  // the brace
  head = HashOf(line);
  ++records;
  absl::StrAppend(&line, kBeforeHash, head, kAfterHash, "\n");
  return line;
}

absl::Status AuditChain::Check(absl::string_view line) {
  const auto broken = [&](absl::string_view why) {
    return absl::DataLossError(absl::StrCat("record ", records + 1, " ", why));
  };
  const std::optional<Halves> halves = Split(line);
  if (!halves) return broken("is no record of an audit log");
  if (HashOf(halves->body) != halves->hash) return broken("was changed: it does not have the hash that it names");
  const Json json = Json::parse(absl::StrCat(halves->body, "}"), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("previous", Json()) != Json(head)) {
    return broken("does not follow from the one before it: a record was changed, removed or put in");
  }
  if (json.value("number", Json()) != Json(records + 1)) return broken("has another number");
  head = std::string(halves->hash);
  ++records;
  return absl::OkStatus();
}

absl::StatusOr<AuditLogSummary> ReadAuditLog(const std::string& path, absl::string_view wanted) {
  BLINK_RETURN_IF_ERROR(CheckRegularFile(path));
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return FileError(errno, "open", path);
  AuditLogSummary summary;
  char* buffer = nullptr;
  size_t capacity = 0;
  absl::Status status;
  while (status.ok()) {
    errno = 0;
    const ssize_t got = ::getline(&buffer, &capacity, file.get());
    if (got < 0) {
      if (std::ferror(file.get()) != 0) status = FileError(errno, "read", path);
      break;
    }
    absl::string_view line(buffer, got);
    if (!absl::ConsumeSuffix(&line, "\n")) {
      summary.torn_bytes = got;
      break;
    }
    status = InFile(path, summary.chain.Check(line));
    if (!status.ok()) break;
    summary.bytes += got;
    if (summary.chain.head == wanted) summary.found = summary.chain.records;
  }
  std::free(buffer);
  if (!status.ok()) return status;
  return summary;
}

}  // namespace blink
