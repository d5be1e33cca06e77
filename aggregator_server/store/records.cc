#include "aggregator_server/store/records.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/format_number.h"
#include "common/base/status_macros.h"

namespace blink::records {
namespace {

constexpr size_t kDigestBytes = sizeof(Digest);
constexpr size_t kDigestRecordBytes = kDigestBytes + 8;  // and one more in an implausible report's
constexpr size_t kReportHeadBytes = 1 + 8 + kDigestBytes;

std::string NodeBytes(uint64_t node) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; --i, node >>= 8) bytes[i] = static_cast<char>(node & 0xff);
  return bytes;
}

void AppendLittleEndian(uint64_t value, std::string& out) {
  for (int i = 0; i < 8; ++i, value >>= 8) out.push_back(static_cast<char>(value & 0xff));
}

uint64_t ReadLittleEndian(const char* bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

void AppendDigest(const Digest& digest, std::string& out) {
  out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace

std::string RoundKey(absl::string_view round_id) { return absl::StrCat("m/", round_id); }
std::string WrappedKeyKey(absl::string_view round_id) { return absl::StrCat("k/", round_id); }
std::string RequestKey(absl::string_view request_id) { return absl::StrCat("q/", request_id); }
std::string GroupsKey(absl::string_view round_id, uint64_t part) {
  return absl::StrCat("g/", round_id, "/", NodeBytes(part));
}
std::string DigestPrefix(absl::string_view round_id) { return absl::StrCat("d/", round_id, "/"); }
std::string DigestKey(absl::string_view round_id, uint64_t node) {
  return absl::StrCat(DigestPrefix(round_id), NodeBytes(node));
}
std::string ReportPrefix(absl::string_view round_id) { return absl::StrCat("r/", round_id, "/"); }
std::string ReportKey(absl::string_view round_id, uint64_t node) {
  return absl::StrCat(ReportPrefix(round_id), NodeBytes(node));
}

std::string EndOfPrefix(absl::string_view prefix) {
  std::string end(prefix);
  ++end.back();
  return end;
}

uint64_t NodeOfKey(absl::string_view key) {
  uint64_t node = 0;
  for (const char byte : key.substr(key.size() - 8)) node = node << 8 | static_cast<uint8_t>(byte);
  return node;
}

std::string EncodeDigest(const DigestRecord& record) {
  std::string value;
  value.reserve(kDigestRecordBytes + 1);
  AppendDigest(record.digest, value);
  AppendLittleEndian(static_cast<uint64_t>(record.received_minute), value);
  if (record.implausible) value.push_back(1);
  return value;
}

absl::StatusOr<DigestRecord> DecodeDigest(absl::string_view value) {
  const bool implausible = value.size() == kDigestRecordBytes + 1 && value.back() == 1;
  if (value.size() != kDigestRecordBytes && !implausible) {
    return absl::DataLossError(
        absl::StrCat("the store holds a digest of ", value.size(), " bytes instead of ", kDigestRecordBytes));
  }
  DigestRecord record;
  record.implausible = implausible;
  std::memcpy(record.digest.data(), value.data(), kDigestBytes);
  record.received_minute = static_cast<int64_t>(ReadLittleEndian(value.data() + kDigestBytes));
  return record;
}

std::string EncodeReportRecord(const CodedReport& report) {
  std::string value;
  value.reserve(kReportHeadBytes + report.coded_bits.size());
  value.push_back(report.noisy_degree.has_value() ? 1 : 0);
  AppendLittleEndian(static_cast<uint64_t>(report.noisy_degree.value_or(0)), value);
  AppendDigest(report.digest, value);
  value.append(report.coded_bits);
  return value;
}

absl::Status CheckFormat(absl::string_view format) {
  if (format == kFormat || format == kFormatOfKeys) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(RefuseOtherFormat("the store", format, kFormatName, kFormatNumber));
  return absl::FailedPreconditionError(absl::StrCat("the store has format \"", format, "\", this program reads \"",
                                                    kFormat, "\": use the version that wrote it"));
}

absl::StatusOr<CodedReport> DecodeReportRecord(absl::string_view value) {
  if (value.size() < kReportHeadBytes || static_cast<uint8_t>(value[0]) > 1) {
    return absl::DataLossError("the store holds a report whose head is damaged");
  }
  CodedReport report;
  if (value[0] == 1) report.noisy_degree = static_cast<int64_t>(ReadLittleEndian(value.data() + 1));
  std::memcpy(report.digest.data(), value.data() + 9, kDigestBytes);
  report.coded_bits = std::string(value.substr(kReportHeadBytes));
  return report;
}

}  // namespace blink::records
