#include "common/cli/strict_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/exit_code.h"
#include "common/cli/decimal.h"
#include "common/cli/help.h"
#include "common/cli/suggestion.h"
#include "common/cli/terminal.h"

namespace blink {
namespace {

// Says why `text` is no whole number, or returns "" and removes leading zeros, which would make it octal for CLI11.
// It does not judge the size: the option's own range speaks first, and RefuseTooLarge last.
std::string RefuseStrangeWhole(std::string& text, bool is_signed) {
  const bool negative = is_signed && absl::StartsWith(text, "-");
  std::string digits = text.substr(negative ? 1 : 0);
  if (!AllDigits(digits)) {
    return text + (is_signed ? " is not a whole number" : " is not a whole number of 0 or more");
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  text = (negative ? "-" : "") + digits;
  return "";
}

std::string RefuseTooLarge(const std::string& text, bool is_signed) {
  uint64_t value = 0;
  int64_t signed_value = 0;
  if (is_signed ? absl::SimpleAtoi(text, &signed_value) : absl::SimpleAtoi(text, &value)) return "";
  return text + (is_signed ? " does not fit into 64 bits" : " is larger than 18446744073709551615");
}

std::string RefuseStrangeReal(const std::string& text) {
  double value = 0;
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;  // no nan, no hexadecimal
  return plain && absl::SimpleAtod(text, &value) && std::isfinite(value) ? "" : text + " is not a finite number";
}

void RefuseStrangeWholes(CLI::Option& option, bool is_signed) {
  // CLI11 runs a transform before the checks that are there already, and a new check after them.
  option.transform(CLI::Validator([=](std::string& text) { return RefuseStrangeWhole(text, is_signed); }, ""));
  option.check(CLI::Validator([=](std::string& text) { return RefuseTooLarge(text, is_signed); }, ""));
}

void RefuseStrangeNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const NumberKind kind = NumberKindOf(*option);
    if (kind == NumberKind::kReal) {
      option->transform(CLI::Validator([](std::string& text) { return RefuseStrangeReal(text); }, ""));
    } else if (kind != NumberKind::kNone) {
      RefuseStrangeWholes(*option, kind == NumberKind::kSigned);
    }
  }
  for (CLI::App* command : CommandsOf(app)) RefuseStrangeNumbers(*command);
}

// A shell variable that is not set gives an empty value, which is not "not given". For CLI11 "--tune=" is "--tune", and
// "--epochs= --seed 7" asks for --seed epochs.
void RefuseEmptyValues(int argc, const char* const* argv) {
  bool are_options = true;  // none are, behind "--"
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k], before = argv[k - 1];
    if (argument.empty()) {
      if (k == 1 || !absl::StartsWith(before, "-")) throw CLI::ValidationError("an argument is empty", "leave it out");
      throw CLI::ValidationError(before, "the value is empty");
    }
    are_options = are_options && argument != "--";
    if (are_options && absl::StartsWith(argument, "--") && argument.find('=') == argument.size() - 1) {
      throw CLI::ValidationError(argument.substr(0, argument.size() - 1), "there is no value behind the =");
    }
  }
}

// The list as it was written has an item between two of its commas, before the first and behind the last.
std::string RefuseEmptyItem(const std::string& list) {
  size_t place = 0;
  for (const absl::string_view item : absl::StrSplit(list, ',')) {
    ++place;
    if (!absl::StripAsciiWhitespace(item).empty()) continue;
    return absl::StrCat("value ", place, " of '", list, "' is empty: write one comma between two values");
  }
  return "";
}

// CLI11 leaves out the empty items of a list: "1,,2" is "1,2" for it. Somebody has forgotten a value.
void RefuseEmptyItems(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* command = &app;
  for (int k = 1; k < argc && argv[k] != std::string("--"); ++k) {
    const std::string argument = argv[k];
    for (const CLI::App* below : CommandsOf(*command)) {
      if (below->get_name() == argument) command = below;
    }
    const size_t equals = argument.find('=');
    const CLI::Option* const option = command->get_option_no_throw(argument.substr(0, equals));
    if (option == nullptr || option->get_delimiter() != ',') continue;
    if (equals == std::string::npos && k + 1 == argc) return;  // CLI11 says that there is no value
    const std::string list = equals == std::string::npos ? argv[++k] : argument.substr(equals + 1);
    if (const std::string wrong = RefuseEmptyItem(list); !wrong.empty()) {
      throw CLI::ValidationError(option->get_name(), wrong);
    }
  }
}

// The innermost of the commands that were given.
const CLI::App& FindCommandGiven(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : FindCommandGiven(*given.front());
}

std::string ListCommands(const CLI::App& app) {
  std::string list;
  for (const CLI::App* known : CommandsOf(app)) {
    absl::StrAppend(&list, "\n  ", absl::StrFormat("%-12s", known->get_name()), known->get_description());
  }
  return list;
}

// "--dataset g200", when `text` stands alone and may be the value of the one option that has to be given and is not.
std::string SuggestOption(const CLI::App& command, const std::string& text) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0 || VisibleNamesOf(*option).empty()) continue;
    return absl::StrCat(": did you mean ", option->get_name(), " ", text, "?");
  }
  return "";
}

// "there is no option --modle": the first argument that no command of `app` knows. Empty when all are known. CLI11
// would first say what is missing, and would list several in reverse order.
std::string DescribeUnknownArgument(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(/*recurse=*/true);
  const auto first = std::find_if(left.begin(), left.end(), [](const std::string& text) { return text != "--"; });
  if (first == left.end()) return "";
  const CLI::App& command = FindCommandGiven(app);
  if (absl::StartsWith(*first, "-") && first->size() > 1) {
    const std::string name = first->substr(0, first->find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options()) {
      for (std::string& visible : VisibleNamesOf(*option)) known.push_back(std::move(visible));
    }
    return absl::StrCat("there is no option ", name, Suggest(name, known));
  }
  if (command.get_require_subcommand_min() == 0) {
    return absl::StrCat("'", *first, "' was not expected", SuggestOption(command, *first));
  }
  std::vector<std::string> names;
  for (const CLI::App* known : CommandsOf(command)) names.push_back(known->get_name());
  const std::string nearest = FindNearest(*first, names);
  return absl::StrCat("there is no subcommand ", *first,
                      nearest.empty() ? "" : absl::StrCat(" (did you mean ", nearest, "?)"), ": choose one of ",
                      absl::StrJoin(names, ", "));
}

// The option that CLI11 converted last. It converts the options of a command in their order, then those of its
// subcommands, and marks each one before it tries. So after a CLI::ConversionError this is the one that failed.
const CLI::Option* FindLastConverted(const CLI::App& app) {
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && option->get_callback_run()) last = option;
  }
  for (const CLI::App* command : CommandsOf(app)) {
    if (const CLI::Option* option = FindLastConverted(*command); option != nullptr) last = option;
  }
  return last;
}

bool FitsInto32Bits(const std::string& text, bool is_signed) {
  int32_t signed_value = 0;
  uint32_t value = 0;
  return is_signed ? absl::SimpleAtoi(text, &signed_value) : absl::SimpleAtoi(text, &value);
}

// CLI11 only says "Could not convert" of a number that does not fit into 32 bits. Throws a better error of that number,
// and does nothing after another failure.
void ExplainTooWide(const CLI::App& app) {
  const CLI::Option* const option = FindLastConverted(app);
  if (option == nullptr) return;
  const NumberKind kind = NumberKindOf(*option);
  if (kind != NumberKind::kUnsigned && kind != NumberKind::kSigned) return;
  const bool is_signed = kind == NumberKind::kSigned;
  for (const std::string& text : option->results()) {
    if (FitsInto32Bits(text, is_signed)) continue;
    throw CLI::ValidationError(option->get_name(),
                               absl::StrCat(text, " is not a whole number from ",
                                            is_signed ? "-2147483648 to 2147483647" : "0 to 4294967295"));
  }
}

// By default CLI11 takes a flag that is given twice for given once, and of "--json --json=false" the last.
void RefuseFlagsGivenTwice(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast) {
      option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    }
  }
  for (CLI::App* command : CommandsOf(app)) RefuseFlagsGivenTwice(*command);
}

// CLI11 says "At Most 1 required but received 2".
void ExplainGivenTwice(const CLI::ArgumentMismatch& error) {
  const std::string text = error.what();
  const size_t colon = text.find(": At Most 1 required");
  if (colon == std::string::npos) return;
  throw CLI::ArgumentMismatch(text.substr(0, colon) + ": it is given more than once: keep one of them",
                              CLI::ExitCodes::ArgumentMismatch);
}

// CLI11 says "A subcommand is required" of a misspelt one.
void ExplainUnknownArgument(const CLI::App& app, const CLI::ParseError& error) {
  const std::string unknown = DescribeUnknownArgument(app);
  if (!unknown.empty()) throw CLI::ParseError(unknown, error.get_exit_code());
}

// A command that has commands is given alone.
void ExplainMissingCommand(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = FindCommandGiven(app);
  if (command.get_require_subcommand_min() == 0) return;
  const CLI::App* const parent = command.get_parent();
  const std::string name =
      parent != nullptr ? absl::StrCat(command.get_name(), " has commands, and one") : "A subcommand";
  throw CLI::ParseError(absl::StrCat(name, " is required. Choose one of", ListCommands(command)),
                        error.get_exit_code());
}

constexpr char kGenerate[] = "--generate";

void AddGenerate(CLI::App& app) {
  if (app.get_option_no_throw(kGenerate) != nullptr) return;
  app.add_option(kGenerate, "Print a script for bash that completes this command line, or the page for man, and end")
      ->transform(OneOf({"bash-completion", "man"}))
      ->configurable(false)
      ->option_text("WHAT");
}

// Asks for no other option, and ends the parsing as --help does.
void Generate(const CLI::App& app, std::string what) {
  const CLI::Option& option = *app.get_option(kGenerate);
  if (const std::string wrong = OneOf(ChoicesOf(option))(what); !wrong.empty()) {
    throw CLI::ValidationError(kGenerate, wrong);
  }
  std::printf("%s", (what == "man" ? ManPage(app) : BashCompletion(app)).c_str());
  throw CLI::Success();
}

}  // namespace

NumberKind NumberKindOf(const CLI::Option& option) {
  // "UINT", and "UINT:INT in [1 - 8]" with a range. CLI11's own names, so that a new version may choose others.
  const std::string type = option.get_type_name();
  if (absl::StartsWith(type, CLI::detail::type_name<uint64_t>())) return NumberKind::kUnsigned;
  if (absl::StartsWith(type, CLI::detail::type_name<int64_t>())) return NumberKind::kSigned;
  if (absl::StartsWith(type, CLI::detail::type_name<double>())) return NumberKind::kReal;
  return NumberKind::kNone;
}

std::optional<uint64_t> ParseWholeNumber(absl::string_view text) {
  uint64_t value = 0;
  if (!AllDigits(text) || !absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

CLI::Validator WholeNumber(uint64_t min, uint64_t max) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const std::optional<uint64_t> value = ParseWholeNumber(text);
        if (value && *value >= min && *value <= max) return "";
        return absl::StrCat(text, " is not a whole number from ", min, " to ", max);
      },
      "");
}

void ParseStrictly(CLI::App& app, int argc, const char* const* argv) {
  AddGenerate(app);
  if (argc > 1 && argv[1] == std::string(kGenerate)) Generate(app, argc > 2 ? argv[2] : "");
  RefuseStrangeNumbers(app);
  RefuseFlagsGivenTwice(app);
  RefuseEmptyValues(argc, argv);
  RefuseEmptyItems(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    ExplainUnknownArgument(app, error);
    ExplainMissingCommand(app, error);
    throw;
  } catch (const CLI::ExtrasError& error) {
    ExplainUnknownArgument(app, error);
    throw;
  } catch (const CLI::ArgumentMismatch& error) {
    ExplainGivenTwice(error);
    throw;
  } catch (const CLI::ConversionError&) {
    ExplainTooWide(app);
    throw;
  }
}

void ParseStrictly(CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<const char*> argv;
  argv.reserve(arguments.size());
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ParseStrictly(app, static_cast<int>(argv.size()), argv.data());
}

int EndOfParsing(const CLI::App& app, const CLI::ParseError& error, const char* program) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  std::fprintf(stderr, "%s: %s\nRun with --help for the options.\n", program, ShownText(error.what()).c_str());
  return static_cast<int>(ExitCode::kUsage);
}

}  // namespace blink
