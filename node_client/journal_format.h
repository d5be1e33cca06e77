// The bytes of a journal's records: their frames with a chained checksum, and their little-endian fields. journal.h
// describes the file.
#ifndef BLINK_NODE_CLIENT_JOURNAL_FORMAT_H_
#define BLINK_NODE_CLIENT_JOURNAL_FORMAT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/privacy/parameters.h"

namespace blink::journal_format {

inline constexpr char kName[] = "BLINKJ";
inline constexpr uint32_t kFormat = 2;
inline constexpr char kMagic[] = "BLINKJ2\n";  // name and format, 8 bytes
inline constexpr uint64_t kMagicBytes = 8;
inline constexpr uint64_t kHeaderBytes = 8;
inline constexpr uint64_t kChecksumBytes = 16;
inline constexpr uint32_t kPayloadBytesMax = 1u << 30;

enum RecordType : uint8_t {
  kInit = 1,
  kEpoch = 2,
  kDraw = 3,
  kRound = 4,
  kReceipt = 5,
  kClock = 6,
  kRoundOver = 7,
  kRoster = 8,
  kAnchored = 9
};

inline Digest ChainStart() { return Sha256Of(absl::string_view(kMagic, kMagicBytes)); }

template <typename T>
void Put(std::string* out, T value) {
  const auto bits = static_cast<uint64_t>(value);
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(bits >> (8 * i)));
}
inline void PutText(std::string* out, absl::string_view text) {
  Put<uint32_t>(out, text.size());
  out->append(text.data(), text.size());
}

// Reads fields from the front. When the bytes end too early, ok() turns false and stays so.
class Fields {
 public:
  explicit Fields(absl::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T Get() {
    if (bytes_.size() < sizeof(T)) {
      ok_ = false;
      return T{};
    }
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) bits |= uint64_t{static_cast<uint8_t>(bytes_[i])} << (8 * i);
    bytes_.remove_prefix(sizeof(T));
    return static_cast<T>(bits);
  }
  absl::string_view GetBytes(size_t size) {
    if (bytes_.size() < size) {
      ok_ = false;
      return {};
    }
    const absl::string_view result = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return result;
  }
  absl::string_view GetText() { return GetBytes(Get<uint32_t>()); }
  absl::string_view rest() const { return bytes_; }
  bool ok() const { return ok_; }
  bool Finished() const { return ok_ && bytes_.empty(); }

 private:
  absl::string_view bytes_;
  bool ok_ = true;
};

inline void PutParameters(std::string* out, const PrivacyParameters& parameters) {
  Put<uint64_t>(out, parameters.epsilon_micro());
  Put<uint32_t>(out, parameters.degree_share_ppm());
  Put<uint32_t>(out, parameters.node_count());
  Put<uint32_t>(out, static_cast<uint32_t>(parameters.mechanism()));
  if (parameters.sends_group_degrees()) {
    Put<uint32_t>(out, parameters.question().count);
    out->append(DigestToBytes(parameters.question().map_sha256));
  }
}

// Returns DATA_LOSS when the values are out of range. PrivacyParameters::Create would blame the caller.
inline absl::StatusOr<PrivacyParameters> GetParameters(Fields& fields) {
  const auto epsilon_micro = fields.Get<uint64_t>();
  const auto degree_share_ppm = fields.Get<uint32_t>();
  const auto node_count = fields.Get<uint32_t>();
  const std::optional<Mechanism> mechanism = MechanismNumbered(fields.Get<uint32_t>());
  if (!mechanism) {
    return absl::DataLossError("a draw of a mechanism that this program does not know; use the program that wrote it");
  }
  absl::StatusOr<PrivacyParameters> parameters = absl::DataLossError("");
  if (*mechanism == Mechanism::kGroupDegrees && degree_share_ppm == 0) {
    GroupQuestion question{.count = fields.Get<uint32_t>()};
    const absl::string_view map_sha256 = fields.GetBytes(question.map_sha256.size());
    std::copy(map_sha256.begin(), map_sha256.end(), question.map_sha256.begin());
    parameters = PrivacyParameters::CreateForGroups(epsilon_micro, node_count, question);
  } else {
    parameters = PrivacyParameters::Create(epsilon_micro, degree_share_ppm, node_count, *mechanism);
  }
  if (!parameters.ok()) return absl::DataLossError("parameters that no round has");
  return parameters;
}

inline uint32_t HeaderCheck(const Digest& chain, uint32_t length) {
  std::string bytes = "length";
  bytes.append(reinterpret_cast<const char*>(chain.data()), chain.size());
  Put<uint32_t>(&bytes, length);
  return Fields(DigestToBytes(Sha256Of(bytes))).Get<uint32_t>();
}

// The chain after a record; its first 16 bytes are the record's checksum.
inline Digest NextChain(const Digest& chain, absl::string_view payload) {
  return Sha256()
      .Update(absl::string_view(reinterpret_cast<const char*>(chain.data()), chain.size()))
      .UpdateUint64(payload.size())
      .Update(payload)
      .Finish();
}
inline absl::string_view Checksum(const Digest& chain) {
  return absl::string_view(reinterpret_cast<const char*>(chain.data()), kChecksumBytes);
}

// Appends one record, and moves `chain` on past it.
inline void AppendRecord(absl::string_view payload, Digest* chain, std::string* out) {
  Put<uint32_t>(out, payload.size());
  Put<uint32_t>(out, HeaderCheck(*chain, payload.size()));
  out->append(payload.data(), payload.size());
  *chain = NextChain(*chain, payload);
  const absl::string_view checksum = Checksum(*chain);
  out->append(checksum.data(), checksum.size());
}

}  // namespace blink::journal_format

#endif  // BLINK_NODE_CLIENT_JOURNAL_FORMAT_H_
