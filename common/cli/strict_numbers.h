// CLI11 reads numbers with strtoull and strtold: 2^64 becomes 2^64 - 1, -18446744073709551615 becomes 1, 010 is 8, and
// nan passes every range. A privacy tool takes a number as it is written, or not at all. A value that was forgotten is
// none.
#ifndef BLINK_COMMON_CLI_STRICT_NUMBERS_H_
#define BLINK_COMMON_CLI_STRICT_NUMBERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/base/exit_code.h"

namespace blink {

// What is no whole number at all. How large it may be the option's own checks say next, and RefuseTooLarge in the end.
inline std::string RefuseStrangeWhole(std::string& text, bool is_signed) {
  const bool negative = is_signed && absl::StartsWith(text, "-");
  std::string digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return text + (is_signed ? " is not a whole number" : " is not a whole number of 0 or more");
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));  // or it would be octal
  text = (negative ? "-" : "") + digits;
  return "";
}

inline std::string RefuseTooLarge(const std::string& text, bool is_signed) {
  uint64_t value = 0;
  int64_t signed_value = 0;
  if (is_signed ? absl::SimpleAtoi(text, &signed_value) : absl::SimpleAtoi(text, &value)) return "";
  return text + (is_signed ? " does not fit into 64 bits" : " is larger than 18446744073709551615");
}

// A check for options with a range of their own; without it those of 32 bits have the range of these (ParseStrictly).
inline CLI::Validator WholeNumber(uint64_t min, uint64_t max) {
  return CLI::Validator(
      [=](std::string& text) {
        uint64_t value = 0;
        const std::string problem = RefuseStrangeWhole(text, false);
        if (problem.empty() && absl::SimpleAtoi(text, &value) && value >= min && value <= max) return std::string();
        return text + " is not a whole number from " + std::to_string(min) + " to " + std::to_string(max);
      },
      "");
}

inline std::string RefuseStrangeReal(std::string& text) {
  double value = 0;
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;  // no nan, no hexadecimal
  return plain && absl::SimpleAtod(text, &value) && std::isfinite(value) ? "" : text + " is not a finite number";
}

inline void RefuseStrangeWholes(CLI::Option& option, bool is_signed) {
  // first
  option.transform(CLI::Validator([=](std::string& text) { return RefuseStrangeWhole(text, is_signed); }, ""));
  option.check(CLI::Validator([=](std::string& text) { return RefuseTooLarge(text, is_signed); }, ""));  // last
}

// Checks what is given to every option of a number, of `app` and all its subcommands, before anything else does. To be
// called when all options are there; the error is a CLI::ValidationError that names the option.
inline void RefuseStrangeNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (absl::StartsWith(type, "UINT")) {
      RefuseStrangeWholes(*option, false);
    } else if (absl::StartsWith(type, "INT")) {
      RefuseStrangeWholes(*option, true);
    } else if (absl::StartsWith(type, "FLOAT")) {
      option->transform(CLI::Validator([](std::string& text) { return RefuseStrangeReal(text); }, ""));
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) RefuseStrangeNumbers(*command);
}

// The option that `error` is about, a number of fewer bits than what was given; nullptr: another error.
inline const CLI::Option* TooNarrow(const CLI::App& app, const CLI::ConversionError& error) {
  const std::string text = error.what();
  for (const CLI::Option* option : app.get_options()) {
    const bool is_number =
        absl::StartsWith(option->get_type_name(), "UINT") || absl::StartsWith(option->get_type_name(), "INT");
    if (is_number && option->count() > 0 && absl::StrContains(text, " " + option->get_name() + " = ")) return option;
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (const CLI::Option* option = TooNarrow(*command, error); option != nullptr) return option;
  }
  return nullptr;
}

inline bool FitsInto32Bits(const std::string& text, bool is_signed) {
  int32_t signed_value = 0;
  uint32_t value = 0;
  return is_signed ? absl::SimpleAtoi(text, &signed_value) : absl::SimpleAtoi(text, &value);
}

// For CLI11 "--tune=" is "--tune", and "--epochs= --seed 7" asks for --seed epochs. To be called before the arguments
// are parsed.
inline void RefuseEmptyValues(int argc, const char* const* argv) {
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--") return;  // no options from here on
    if (absl::StartsWith(argument, "--") && argument.find('=') == argument.size() - 1) {
      throw CLI::ValidationError(argument.substr(0, argument.size() - 1), "there is no value behind the =");
    }
  }
}

// The innermost of the commands that were given.
inline const CLI::App& CommandGiven(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : CommandGiven(*given.front());
}

// "there is no option --modle", of the first argument that no command of `app` knows; empty: all are known. CLI11 says
// of it in the first place what is missing, and tells several in reverse order.
inline std::string UnknownArgument(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(/*recurse=*/true);
  const auto first = std::find_if(left.begin(), left.end(), [](const std::string& text) { return text != "--"; });
  if (first == left.end()) return "";
  const CLI::App& command = CommandGiven(app);
  if (absl::StartsWith(*first, "-") && first->size() > 1) {
    return "there is no option " + first->substr(0, first->find('='));
  }
  if (command.get_require_subcommand_min() == 0) return "'" + *first + "' was not expected";
  std::string names;
  for (const CLI::App* known : command.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + known->get_name();
  }
  return "there is no subcommand " + *first + ": choose one of " + names;
}

// Parses the command line with all that this file refuses; every CLI::ParseError of a number names the option, the
// value and what it may be, and every one of an argument that is not known that argument. CLI11 itself says "Could not
// convert" of a number that does not fit into 32 bits, and "A subcommand is required" of a misspelt one.
inline void ParseStrictly(CLI::App& app, int argc, const char* const* argv) {
  RefuseStrangeNumbers(app);
  RefuseEmptyValues(argc, argv);
  const auto explain = [&app](const CLI::ParseError& error) {
    const std::string unknown = UnknownArgument(app);
    if (!unknown.empty()) throw CLI::ParseError(unknown, error.get_exit_code());
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    explain(error);
    throw;
  } catch (const CLI::ExtrasError& error) {
    explain(error);
    throw;
  } catch (const CLI::ConversionError& error) {
    const CLI::Option* const option = TooNarrow(app, error);
    if (option == nullptr) throw;
    const bool is_signed = absl::StartsWith(option->get_type_name(), "INT");
    const std::string range = is_signed ? "-2147483648 to 2147483647" : "0 to 4294967295";
    for (const std::string& text : option->results()) {
      if (FitsInto32Bits(text, is_signed)) continue;
      throw CLI::ValidationError(option->get_name(), text + " is not a whole number from " + range);
    }
    throw;
  }
}

// How `program` ends on what ParseStrictly threw: with 0 where --help or --version was asked for, which is printed, or
// as on wrong flags.
inline int EndOfParsing(const CLI::App& app, const CLI::ParseError& error, const char* program) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  std::fprintf(stderr, "%s: %s\nRun with --help for the options.\n", program, error.what());
  return static_cast<int>(ExitCode::kUsage);
}

}  // namespace blink

#endif  // BLINK_COMMON_CLI_STRICT_NUMBERS_H_
