// CLI11 reads numbers with strtoull and strtold: 2^64 becomes 2^64 - 1, -18446744073709551615 becomes 1, 010 is 8, and
// nan passes every range. A privacy tool takes a number as it is written, or not at all.
#ifndef BLINK_COMMON_BASE_STRICT_NUMBERS_H_
#define BLINK_COMMON_BASE_STRICT_NUMBERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace blink {

inline std::string RefuseStrangeWhole(std::string& text, bool is_signed) {
  const bool negative = is_signed && absl::StartsWith(text, "-");
  std::string digits = text.substr(negative ? 1 : 0);
  uint64_t value = 0;
  int64_t signed_value = 0;
  const bool fits = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos &&
                    (is_signed ? absl::SimpleAtoi(text, &signed_value) : absl::SimpleAtoi(text, &value));
  if (!fits) {
    return text + (is_signed ? " is not a whole number of at most 64 bits"
                             : " is not a whole number from 0 to 18446744073709551615");
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));  // or it would be octal
  text = (negative ? "-" : "") + digits;
  return "";
}

inline std::string RefuseStrangeReal(std::string& text) {
  double value = 0;
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;  // no nan, no hexadecimal
  return plain && absl::SimpleAtod(text, &value) && std::isfinite(value) ? "" : text + " is not a finite number";
}

// Checks what is given to every option of a number, of `app` and all its subcommands, before anything else does. To be
// called when all options are there; the error is a CLI::ValidationError that names the option.
inline void RefuseStrangeNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (absl::StartsWith(type, "UINT")) {
      option->transform(CLI::Validator([](std::string& text) { return RefuseStrangeWhole(text, false); }, ""));
    } else if (absl::StartsWith(type, "INT")) {
      option->transform(CLI::Validator([](std::string& text) { return RefuseStrangeWhole(text, true); }, ""));
    } else if (absl::StartsWith(type, "FLOAT")) {
      option->transform(CLI::Validator([](std::string& text) { return RefuseStrangeReal(text); }, ""));
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) RefuseStrangeNumbers(*command);
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_STRICT_NUMBERS_H_
