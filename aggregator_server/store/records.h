// Keys and values of the store, format 2. A store becomes format 2 with its first encrypted round, or when reports are
// deleted, which a program of format 1 would take for damage. Until then it is format 1.
//
//   f                      -> "blink-store-1" or "blink-store-2"
//   k/<round>              -> the round's key, encrypted (wrapped_key.h)
//   m/<round>              -> v1::Round, serialized
//   q/<request id>         -> round id
//   d/<round>/<node>       -> digest (32), received_minute (i64), 1 if implausible (u8, absent: 0); asked for often
//   g/<round>/<part>       -> 65,536 bytes of the groups that the round asks about, or the rest of them
//   r/<round>/<node>       -> degree present (u8), degree (i64), digest (32), coded bits; of an encrypted round as
//                             sealed_report.h says
//
// Nodes and parts are 8 bytes, big endian, so that they ascend; numbers in values are little endian.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_RECORDS_H_
#define BLINK_AGGREGATOR_SERVER_STORE_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/wire/report_codec.h"

namespace blink::records {

inline constexpr char kFormatKey[] = "f";
inline constexpr char kFormatName[] = "blink-store-";
inline constexpr uint32_t kFormatNumber = 2;
inline constexpr char kFormat[] = "blink-store-1";  // name and number, of a new store
inline constexpr char kFormatOfKeys[] = "blink-store-2";

inline constexpr char kNoFormat[] = "the store has entries but no format: it is damaged or not blink's";
// FAILED_PRECONDITION unless the value of kFormatKey is one of these formats.
absl::Status CheckFormat(absl::string_view format);

inline constexpr char kRoundPrefix[] = "m/";
inline constexpr char kDigestsPrefix[] = "d/";
inline constexpr char kKeysPrefix[] = "k/";

std::string RoundKey(absl::string_view round_id);
std::string WrappedKeyKey(absl::string_view round_id);
std::string RequestKey(absl::string_view request_id);
std::string GroupsKey(absl::string_view round_id, uint64_t part);
std::string DigestPrefix(absl::string_view round_id);
std::string DigestKey(absl::string_view round_id, uint64_t node);
std::string ReportPrefix(absl::string_view round_id);
std::string ReportKey(absl::string_view round_id, uint64_t node);
// Behind every key that begins with `prefix`, which ends with "/".
std::string EndOfPrefix(absl::string_view prefix);
// The node at the end of a digest or report key. `key` is at least 8 bytes long.
uint64_t NodeOfKey(absl::string_view key);

struct DigestRecord {
  Digest digest{};
  int64_t received_minute = 0;
  bool implausible = false;
};
std::string EncodeDigest(const DigestRecord& record);
absl::StatusOr<DigestRecord> DecodeDigest(absl::string_view value);  // DATA_LOSS

std::string EncodeReportRecord(const CodedReport& report);
absl::StatusOr<CodedReport> DecodeReportRecord(absl::string_view value);  // DATA_LOSS

}  // namespace blink::records

#endif  // BLINK_AGGREGATOR_SERVER_STORE_RECORDS_H_
