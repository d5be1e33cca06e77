// Reads numbers, durations and ranges of nodes from the command line. They are read exactly: a number that
// decides privacy never passes through floating point.
#ifndef BLINK_COMMON_CLI_DECIMAL_H_
#define BLINK_COMMON_CLI_DECIMAL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/wire/roster.h"

namespace blink {

// Whether the text is one digit or more, and nothing else.
bool AllDigits(absl::string_view text);

// "6", "0.1", "2.25" in millionths: digits, at most one point with digits on both sides, at most six of them behind it.
// Returns INVALID_ARGUMENT, naming `what`, for signs, exponents, a seventh decimal, or 9007199254 and more. So the
// result stays below 2^53.
absl::StatusOr<uint64_t> ParseMicro(absl::string_view what, absl::string_view text);

// The privacy budget of a report, in millionths. As ParseMicro, and refuses what is not from 0.000001 to 50.
absl::StatusOr<uint64_t> ParseEpsilon(absl::string_view what, absl::string_view text);

// The share of a budget that pays for the degree, in millionths. As ParseMicro, and refuses what is above 1.
absl::StatusOr<uint32_t> ParseDegreeShare(absl::string_view what, absl::string_view text);

// The shortest decimal for millionths: 6000000 -> "6", 100000 -> "0.1".
std::string FormatMicro(uint64_t micro);

// "90s", "10m", "1h30m", "500ms", "2d". Returns INVALID_ARGUMENT, naming `what`, for anything else, for negative and
// infinite durations, and for what is not a whole number of `unit` (a second or a millisecond).
absl::StatusOr<absl::Duration> ParsePositiveDuration(absl::string_view what, absl::string_view text,
                                                     absl::Duration unit = absl::Milliseconds(1));

// "3" or "0-135", first <= last < node_count.
absl::StatusOr<NodeRange> ParseNodeRange(absl::string_view text, uint64_t node_count);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_DECIMAL_H_
