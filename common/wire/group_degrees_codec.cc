#include "common/wire/group_degrees_codec.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace blink {
namespace {

uint64_t Fold(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ (value < 0 ? ~uint64_t{0} : 0); }
int64_t Unfold(uint64_t folded) { return static_cast<int64_t>((folded >> 1) ^ (uint64_t{0} - (folded & 1))); }

// Nothing: the digits end too early, are too many, or end with a superfluous one.
std::optional<uint64_t> TakeFolded(absl::string_view& coded) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !coded.empty(); shift += 7) {
    const uint8_t digit = static_cast<uint8_t>(coded.front());
    coded.remove_prefix(1);
    if (shift == 63 && digit > 1) break;  // beyond 64 bits
    value |= uint64_t{digit & 127u} << shift;
    if (digit >= 128) continue;
    if (digit == 0 && shift > 0) break;
    return value;
  }
  return std::nullopt;
}

}  // namespace

std::string EncodeGroupDegrees(absl::Span<const int64_t> degrees) {
  std::string coded;
  for (const int64_t degree : degrees) {
    uint64_t rest = Fold(degree);
    for (; rest >= 128; rest >>= 7) coded.push_back(static_cast<char>(rest | 128));
    coded.push_back(static_cast<char>(rest));
  }
  return coded;
}

absl::StatusOr<std::vector<int64_t>> DecodeGroupDegrees(absl::string_view coded, uint32_t count) {
  std::vector<int64_t> degrees;
  degrees.reserve(count);
  for (uint32_t group = 0; group < count; ++group) {
    const std::optional<uint64_t> folded = TakeFolded(coded);
    if (!folded) {
      return absl::InvalidArgumentError(
          absl::StrCat("group degrees: the number of group ", group, " of ", count, " is missing or malformed"));
    }
    degrees.push_back(Unfold(*folded));
  }
  if (coded.empty()) return degrees;
  return absl::InvalidArgumentError(
      absl::StrCat("group degrees: ", coded.size(), " bytes follow the numbers of the ", count, " groups"));
}

}  // namespace blink
