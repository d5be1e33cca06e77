#include "common/cli/strict_numbers.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

struct Values {
  uint64_t whole = 0;
  uint32_t small = 0, byte = 1;
  std::optional<uint64_t> optional;
  int count = 0, plain = 0;
  double real = 0, seconds = 0;
  bool flag = false;
  std::vector<uint32_t> list;
  std::vector<std::string> names, commas;
};

// The error of a program with `command` and these arguments, or nothing.
std::string ParseArguments(const std::vector<std::string>& given, Values& values) {
  CLI::App app("test", "test");
  CLI::App* command = app.add_subcommand("command");
  command->add_option("--whole", values.whole);
  command->add_option("--small", values.small);
  command->add_option("--byte", values.byte)->check(WholeNumber(1, 255));
  command->add_option("--optional", values.optional);
  command->add_option("--count", values.count)->check(CLI::Range(-5, 100));
  command->add_option("--plain", values.plain);
  command->add_option("--real", values.real)->check(CLI::Range(0.0, 100.0));
  command->add_option("--list", values.list);
  command->add_option("--name", values.names);
  command->add_option("--commas", values.commas)->delimiter(',')->allow_extra_args(false);
  command->add_flag("--flag", values.flag);
  command->add_option("--seconds", values.seconds)->check(SecondsOrNever());
  std::vector<const char*> arguments = {"test", "command"};
  for (const std::string& argument : given) arguments.push_back(argument.c_str());
  try {
    ParseStrictly(app, static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

std::string Parse(const std::string& flag, const std::string& value, Values& values) {
  return ParseArguments({"--" + flag + "=" + value}, values);
}

TEST(StrictNumbers, TakesWhatIsWritten) {
  Values values;
  EXPECT_EQ(Parse("whole", "18446744073709551615", values), "");
  EXPECT_EQ(values.whole, 18446744073709551615u);
  EXPECT_EQ(Parse("whole", "010", values), "");
  EXPECT_EQ(values.whole, 10u) << "not octal";
  EXPECT_EQ(Parse("optional", "0", values), "");
  EXPECT_EQ(values.optional, 0u);
  EXPECT_EQ(Parse("count", "-5", values), "");
  EXPECT_EQ(values.count, -5);
  EXPECT_EQ(Parse("real", "1.5e1", values), "");
  EXPECT_EQ(values.real, 15.0);
  EXPECT_EQ(Parse("list", "7", values), "");
  EXPECT_EQ(values.list, std::vector<uint32_t>{7});
}

TEST(StrictNumbers, RefusesWholeNumbersThatDoNotFit) {
  Values values;
  for (const char* flag : {"whole", "small", "optional", "list"}) {
    for (const char* value :
         {"18446744073709551616", "-1", "-18446744073709551615", "1.5", "1e3", "0x10", "six", "nan", "inf", "+", " "}) {
      EXPECT_THAT(Parse(flag, value, values), ::testing::HasSubstr(flag)) << flag << " " << value;
    }
  }
  EXPECT_THAT(Parse("small", "4294967296", values), ::testing::HasSubstr("small"));
  for (const char* value : {"9223372036854775808", "-6", "101", "1.0", "--5"}) {
    EXPECT_THAT(Parse("count", value, values), ::testing::HasSubstr("count")) << value;
  }
}

TEST(StrictNumbers, NamesTheRangeOfTheOptionAndNotThatOfAllNumbers) {
  Values values;
  for (const char* value : {"101", "4294967296", "9223372036854775808", "99999999999999999999999"}) {
    EXPECT_THAT(Parse("count", value, values), ::testing::HasSubstr("not in range -5 to 100")) << value;
  }
  for (const char* value : {"0", "256", "4294967296", "18446744073709551616"}) {
    EXPECT_THAT(Parse("byte", value, values),
                ::testing::HasSubstr(std::string(value) + " is not a whole number from 1 to 255"))
        << value;
  }
  EXPECT_THAT(Parse("byte", "-1", values), ::testing::HasSubstr("-1 is not a whole number"));
  EXPECT_EQ(Parse("byte", "0255", values), "");
  EXPECT_EQ(values.byte, 255u);
  EXPECT_THAT(Parse("whole", "18446744073709551616", values),
              ::testing::HasSubstr("is larger than 18446744073709551615"));
  EXPECT_THAT(Parse("whole", "six", values), ::testing::HasSubstr("is not a whole number of 0 or more"));
  EXPECT_THAT(Parse("count", "1.5", values), ::testing::HasSubstr("1.5 is not a whole number"));
}

TEST(StrictNumbers, RefusesAnEmptyValueThatWouldBeTakenForNoneOrForTheNextArgument) {
  Values values;
  EXPECT_EQ(ParseArguments({"--whole="}, values), "--whole: there is no value behind the =");
  EXPECT_EQ(ParseArguments({"--whole=", "5"}, values), "--whole: there is no value behind the =");
  EXPECT_EQ(ParseArguments({"--whole=5", "--name", "a=", "--name=b="}, values), "");
  EXPECT_EQ(ParseArguments({"--", "--whole="}, values), "there is no option --whole");
}

TEST(StrictNumbers, RefusesAnEmptyArgument) {
  Values values;
  EXPECT_EQ(ParseArguments({"--whole", ""}, values), "--whole: the value is empty");
  EXPECT_EQ(ParseArguments({"--name", ""}, values), "--name: the value is empty");
  EXPECT_EQ(ParseArguments({"--name", "a", ""}, values), "an argument is empty: leave it out");
  EXPECT_EQ(ParseArguments({"--", ""}, values), "--: the value is empty");
}

TEST(StrictNumbers, TakesAListWithCommas) {
  Values values;
  EXPECT_EQ(ParseArguments({"--commas", "a,b", "--commas=c", "--name", "x,,y"}, values), "");
  EXPECT_EQ(values.commas, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(values.names, std::vector<std::string>{"x,,y"}) << "not a list with commas";
}

TEST(StrictNumbers, RefusesAnEmptyItemOfAListWithCommas) {
  Values values;
  EXPECT_EQ(ParseArguments({"--commas", "1,,2"}, values),
            "--commas: value 2 of '1,,2' is empty: write one comma between two values");
  for (const char* list : {",", ",1", "1,", "1, ,2", ",,"}) {
    EXPECT_THAT(ParseArguments({"--commas", list}, values), ::testing::HasSubstr("--commas: value ")) << list;
    EXPECT_THAT(ParseArguments({std::string("--commas=") + list}, values), ::testing::HasSubstr(" is empty")) << list;
    EXPECT_THAT(ParseArguments({"--commas=a", "--commas", list}, values), ::testing::HasSubstr(" is empty")) << list;
  }
  EXPECT_THAT(ParseArguments({"--commas"}, values), ::testing::HasSubstr("--commas"));
}

TEST(StrictNumbers, RefusesAnOptionThatIsGivenTwiceUnlessItIsAList) {
  Values values;
  for (const char* option : {"--whole", "--small", "--byte", "--optional", "--count", "--real"}) {
    EXPECT_EQ(ParseArguments({option, "1", option, "1"}, values),
              std::string(option) + ": it is given more than once: keep one of them");
  }
  EXPECT_EQ(ParseArguments({"--flag", "--flag"}, values), "--flag: it is given more than once: keep one of them");
  EXPECT_EQ(ParseArguments({"--flag", "--flag=false"}, values), "--flag: it is given more than once: keep one of them");
  EXPECT_EQ(ParseArguments({"--name", "a", "--name", "b", "--flag"}, values), "");
  EXPECT_THAT(values.names, ::testing::ElementsAre("a", "b"));
}

TEST(StrictNumbers, TakesNoSecondsThatAreNearlyNone) {
  Values values;
  for (const char* value : {"0", "0.001", "7"}) EXPECT_EQ(Parse("seconds", value, values), "");
  for (const char* value : {"1e-9", "0.0009", "-1", "-0.5"}) {
    EXPECT_THAT(Parse("seconds", value, values), ::testing::HasSubstr("is neither 0 nor at least 0.001")) << value;
  }
}

TEST(StrictNumbers, RefusesNumbersThatAreNone) {
  Values values;
  for (const char* value :
       {"nan", "NaN", "-nan", "inf", "-inf", "infinity", "1e999", "0x1p3", "1.5.2", "e", "six", "-1", "101"}) {
    EXPECT_THAT(Parse("real", value, values), ::testing::HasSubstr("real")) << value;
  }
}

TEST(StrictNumbers, NamesTheRangeOfWhatHas32Bits) {
  Values values;
  EXPECT_EQ(Parse("small", "4294967296", values), "--small: 4294967296 is not a whole number from 0 to 4294967295");
  EXPECT_EQ(Parse("list", "4294967296", values), "--list: 4294967296 is not a whole number from 0 to 4294967295");
  EXPECT_EQ(Parse("plain", "-2147483649", values),
            "--plain: -2147483649 is not a whole number from -2147483648 to 2147483647");
  for (const std::vector<std::string>& list : {std::vector<std::string>{"--list=4294967296", "--list=5"},
                                               {"--list=5", "--list=4294967296"},
                                               {"--list", "4294967295", "4294967296", "0"}}) {
    EXPECT_EQ(ParseArguments(list, values), "--list: 4294967296 is not a whole number from 0 to 4294967295") << list[0];
  }
  EXPECT_EQ(ParseArguments({"--list=4294967295", "--list=5"}, values), "");
  EXPECT_EQ(values.list, (std::vector<uint32_t>{4294967295, 5}));
  EXPECT_EQ(Parse("small", "4294967295", values), "");
  EXPECT_EQ(values.small, 4294967295u);
}

// Which option CLI11 failed to convert is not in its error, but follows from the order in which it converts them.
TEST(StrictNumbers, NamesTheNumberThatIsTooWideAndNotOneOf64BitsBesideIt) {
  Values values;
  const std::string of_small = "--small: 4294967296 is not a whole number from 0 to 4294967295";
  EXPECT_EQ(ParseArguments({"--whole=4294967297", "--small=4294967296", "--optional=4294967298"}, values), of_small);
  EXPECT_EQ(ParseArguments({"--optional=4294967298", "--small=4294967296", "--whole=4294967297"}, values), of_small);
  EXPECT_EQ(ParseArguments({"--plain=5", "--small=4294967296", "--name=4294967296"}, values), of_small);
}

TEST(StrictNumbers, KnowsTheKindsOfNumbersByTheNamesOfCli11sTypes) {
  CLI::App app("test", "test");
  uint64_t whole = 0;
  std::optional<uint32_t> small;
  std::vector<uint32_t> list;
  int count = 0;
  double real = 0;
  std::string text;
  bool flag = false;
  EXPECT_EQ(NumberKindOf(*app.add_option("--whole", whole)), NumberKind::kUnsigned);
  EXPECT_EQ(NumberKindOf(*app.add_option("--small", small)), NumberKind::kUnsigned);
  EXPECT_EQ(NumberKindOf(*app.add_option("--list", list)), NumberKind::kUnsigned);
  EXPECT_EQ(NumberKindOf(*app.add_option("--range", whole)->check(CLI::Range(1, 8))), NumberKind::kUnsigned);
  EXPECT_EQ(NumberKindOf(*app.add_option("--count", count)), NumberKind::kSigned);
  EXPECT_EQ(NumberKindOf(*app.add_option("--real", real)->check(CLI::Range(0.0, 1.0))), NumberKind::kReal);
  EXPECT_EQ(NumberKindOf(*app.add_option("--text", text)), NumberKind::kNone);
  EXPECT_EQ(NumberKindOf(*app.add_flag("--flag", flag)), NumberKind::kNone);
}

TEST(StrictNumbers, ReadsAWholeNumberOfDigitsAlone) {
  EXPECT_EQ(ParseWholeNumber("017"), 17u);
  EXPECT_EQ(ParseWholeNumber("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"", " 1", "+1", "-1", "1.0", "1e3", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(ParseWholeNumber(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace blink
