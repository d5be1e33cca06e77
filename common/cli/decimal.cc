#include "common/cli/decimal.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr size_t kDecimals = 6;
constexpr uint64_t kMillion = kPartsPerMillion;
constexpr uint64_t kMicroMax = uint64_t{1} << 53;  // what JSON carries exactly

bool HasDecimalsBeyond(absl::string_view text, size_t decimals_max) {
  for (size_t point = text.find('.'); point != absl::string_view::npos; point = text.find('.', point + 1)) {
    const size_t end = std::min(text.find_first_not_of("0123456789", point + 1), text.size());
    if (end - point - 1 > decimals_max) return true;
  }
  return false;
}

}  // namespace

bool AllDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

absl::StatusOr<uint64_t> ParseMicro(absl::string_view what, absl::string_view text) {
  auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": '", text, "' ", why));
  };
  const size_t point = text.find('.');
  const absl::string_view whole = text.substr(0, point);
  const absl::string_view fraction = point == absl::string_view::npos ? "0" : text.substr(point + 1);
  if (!AllDigits(whole) || !AllDigits(fraction)) return refuse("is not a decimal number such as 6 or 0.1");
  if (fraction.size() > kDecimals) return refuse("has more than six decimals: it travels as an integer of millionths");
  uint64_t units = 0;
  uint64_t millionths = 0;
  const std::string padded = absl::StrCat(fraction, std::string(kDecimals - fraction.size(), '0'));
  if (!absl::SimpleAtoi(whole, &units) || units >= kMicroMax / kMillion || !absl::SimpleAtoi(padded, &millionths)) {
    return refuse("is too large");
  }
  return units * kMillion + millionths;
}

absl::StatusOr<uint64_t> ParseEpsilon(absl::string_view what, absl::string_view text) {
  BLINK_ASSIGN_OR_RETURN(const uint64_t epsilon_micro, ParseMicro(what, text));
  if (epsilon_micro >= 1 && epsilon_micro <= kEpsilonMicroMax) return epsilon_micro;
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": '", text, "' is not from 0.000001 to ", FormatMicro(kEpsilonMicroMax)));
}

absl::StatusOr<uint32_t> ParseDegreeShare(absl::string_view what, absl::string_view text) {
  BLINK_ASSIGN_OR_RETURN(const uint64_t share_ppm, ParseMicro(what, text));
  if (share_ppm <= kPartsPerMillion) return static_cast<uint32_t>(share_ppm);
  return absl::InvalidArgumentError(absl::StrCat(what, ": '", text, "' is not from 0 to 1"));
}

std::string FormatMicro(uint64_t micro) {
  std::string text = absl::StrFormat("%d.%06d", micro / kMillion, micro % kMillion);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

absl::StatusOr<absl::Duration> ParsePositiveDuration(absl::string_view what, absl::string_view text,
                                                     absl::Duration unit) {
  absl::Duration duration;
  absl::string_view days_text = text;
  uint32_t days = 0;
  bool parsed = false;
  if (absl::ConsumeSuffix(&days_text, "d") && AllDigits(days_text) && absl::SimpleAtoi(days_text, &days)) {
    duration = absl::Hours(24) * static_cast<int64_t>(days);
    parsed = true;
  }
  if (!parsed && !absl::ParseDuration(text, &duration)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": '", text, "' is not a duration such as 90s, 10m, 1h30m or 2d"));
  }
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": '", text, "' must be finite and not negative"));
  }
  // Decimals beyond the unit would be cut off, and 0.2 s would be no time at all.
  if (HasDecimalsBeyond(text, 9) || absl::Floor(duration, unit) != duration) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": '", text, "' is not a whole number of ",
                                                   unit == absl::Seconds(1) ? "seconds" : "milliseconds"));
  }
  return duration;
}

absl::StatusOr<NodeRange> ParseNodeRange(absl::string_view text, uint64_t node_count) {
  const size_t dash = text.find('-');
  const absl::string_view first = text.substr(0, dash);
  const absl::string_view last = dash == absl::string_view::npos ? first : text.substr(dash + 1);
  NodeRange range;
  if (!AllDigits(first) || !AllDigits(last) || !absl::SimpleAtoi(first, &range.first) ||
      !absl::SimpleAtoi(last, &range.last)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a node (3) or a range of nodes (0-135)"));
  }
  if (range.first > range.last) {
    return absl::InvalidArgumentError(
        absl::StrCat("the range '", text, "' begins above its end: write ", range.last, "-", range.first));
  }
  if (range.last >= node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not within 0-", node_count - 1, ", the nodes that there are"));
  }
  return range;
}

}  // namespace blink
