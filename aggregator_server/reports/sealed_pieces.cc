#include "aggregator_server/reports/sealed_pieces.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr uint32_t kLastBit = 1u << 31;
constexpr size_t kLengthBytes = 4;

std::string PieceContext(const std::string& round_id, uint64_t number, bool is_last) {
  return absl::StrCat("blink reports 2|", round_id, "|", number, "|", is_last ? 1 : 0);
}

}  // namespace

absl::StatusOr<std::string> PieceSealer::SealNext(absl::string_view bytes, bool is_last) {
  std::string pieces;
  do {
    const absl::string_view piece = bytes.substr(0, kPieceBytesMax);
    bytes.remove_prefix(piece.size());
    const bool is_end = is_last && bytes.empty();
    BLINK_ASSIGN_OR_RETURN(const std::string sealed, Seal(key_, PieceContext(round_id_, count_, is_end), piece));
    ++count_;
    const uint32_t length = static_cast<uint32_t>(sealed.size()) | (is_end ? kLastBit : 0);
    for (int shift = 0; shift < 32; shift += 8) pieces.push_back(static_cast<char>(length >> shift & 0xff));
    pieces += sealed;
  } while (!bytes.empty());
  return pieces;
}

absl::StatusOr<std::string> PieceReader::ReadNext(std::FILE* file) {
  if (has_ended_) return absl::DataLossError("it goes on behind its end");
  uint8_t bytes[kLengthBytes];
  if (std::fread(bytes, 1, kLengthBytes, file) != kLengthBytes) return absl::OutOfRangeError("");
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= uint32_t{bytes[i]} << (8 * i);
  has_ended_ = (length & kLastBit) != 0;
  length &= ~kLastBit;
  if (length > kPieceBytesMax + kSealBytes) return absl::DataLossError("an encrypted piece is too long");
  std::string sealed(length, '\0');
  if (std::fread(sealed.data(), 1, length, file) != length) return absl::OutOfRangeError("");
  return Unseal(key_, PieceContext(round_id_, count_++, has_ended_), sealed);
}

}  // namespace blink
