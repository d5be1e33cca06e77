// The noisy numbers of links towards groups as bytes, with exactly one valid encoding.
//
// Each number v stands as 2 v, or as -2 v - 1 where it is negative, in base 128: low digits first, in as few bytes as
// possible. The high bit of every byte but the last is set.
#ifndef BLINK_COMMON_WIRE_GROUP_DEGREES_CODEC_H_
#define BLINK_COMMON_WIRE_GROUP_DEGREES_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace blink {

inline constexpr uint32_t kGroupDegreeBytesMax = 10;  // of one number

std::string EncodeGroupDegrees(absl::Span<const int64_t> degrees);

// INVALID_ARGUMENT unless `coded` is what EncodeGroupDegrees gives for `count` numbers.
absl::StatusOr<std::vector<int64_t>> DecodeGroupDegrees(absl::string_view coded, uint32_t count);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_GROUP_DEGREES_CODEC_H_
