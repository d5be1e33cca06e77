// Parses a command line strictly: a number is taken as it is written, or refused.
//
// CLI11 reads numbers with strtoull and strtold. So 2^64 becomes 2^64 - 1, -18446744073709551615 becomes 1, 010 becomes
// 8, and nan passes every range. A value that was forgotten ("--tune=") is taken for none, or for the next argument. A
// tool for privacy must refuse all of these.
//
//   try {
//     ParseStrictly(app, argc, argv);
//   } catch (const CLI::ParseError& error) {
//     return EndOfParsing(app, error, "blink");
//   }
#ifndef BLINK_COMMON_CLI_STRICT_NUMBERS_H_
#define BLINK_COMMON_CLI_STRICT_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace blink {

// What an option of CLI11 holds. CLI11 knows it only as the name of a type.
enum class NumberKind { kNone, kUnsigned, kSigned, kReal };
NumberKind NumberKindOf(const CLI::Option& option);

// "17" or "017" as 17. Nothing when `text` has another character than a digit, or does not fit into 64 bits.
std::optional<uint64_t> ParseWholeNumber(absl::string_view text);

// The check of an option that has a range of its own. An option of 32 bits without it has the range of its type.
CLI::Validator WholeNumber(uint64_t min, uint64_t max);

// The check of an option of seconds in which 0 stands for "never" or "no limit": a value that is nearly 0 is neither.
inline CLI::Validator SecondsOrNever() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double seconds = 0;
        if (absl::SimpleAtod(text, &seconds) && (seconds == 0 || seconds >= 0.001)) return "";
        return absl::StrCat("Value ", text, " is neither 0 nor at least 0.001");
      },
      "");
}

// Parses the command line. To be called when all options are there. Every CLI::ParseError names the option and the
// value:
// - of a number that is strange or too large: what it may be;
// - of an option without a value behind its "=", or with an empty one: that it has none;
// - of a list with an empty item between its commas: which one;
// - of an option or a flag that is given more than once, and is not a list: that it is;
// - of an argument that no command knows: that argument, before anything that is missing.
void ParseStrictly(CLI::App& app, int argc, const char* const* argv);
void ParseStrictly(CLI::App& app, const std::vector<std::string>& arguments);  // with the program's name

// The exit code of `program` after ParseStrictly threw `error`. Prints the help or the version when it was asked for
// and returns 0; otherwise says what is wrong and returns the code of wrong flags.
int EndOfParsing(const CLI::App& app, const CLI::ParseError& error, const char* program);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_STRICT_NUMBERS_H_
