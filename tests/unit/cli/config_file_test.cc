#include "common/cli/config_file.h"

#include <unistd.h>

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

std::map<std::string, std::string> Parse(const std::string& text) {
  const absl::StatusOr<std::vector<ConfigEntry>> entries = ParseConfig(text, "x.conf");
  EXPECT_TRUE(entries.ok()) << entries.status() << " " << text;
  std::map<std::string, std::string> values;
  if (entries.ok()) {
    for (const ConfigEntry& entry : *entries) values[entry.key] = entry.value;
  }
  return values;
}

std::string Refusal(const std::string& text) {
  const absl::StatusOr<std::vector<ConfigEntry>> entries = ParseConfig(text, "x.conf");
  EXPECT_EQ(entries.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(entries.status().message());
}

TEST(ParseConfig, ReadsCommentsAndWhatEditorsLeave) {
  const std::map<std::string, std::string> expected = {
      {"a", "x y"}, {"b", "it is \"so\""}, {"c-d", "true"}, {"e", "/a#b"}};
  const std::string text = "# first\na=\"x y\" # why\n\nb = 'it is \"so\"'; why\n\tc-d=true  # why\ne=\"/a#b\"";
  EXPECT_EQ(Parse(text), expected);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(Parse("\xEF\xBB\xBF" + crlf + "\r\n"), expected);
  EXPECT_TRUE(Parse("").empty());
}

TEST(ParseConfig, KnowsTheLineOfAnEntry) { EXPECT_EQ(ParseConfig("\n# x\na=1\n", "x.conf")->front().line, 3); }

TEST(ParseConfig, NamesTheLineThatIsNoEntry) {
  for (const char* line : {"a", "=1", "a b=1", "--a=1", "a:1", "\"a\"=1", "key \"value\""}) {
    EXPECT_EQ(Refusal(std::string("# x\n") + line + "\nb=1\n"), "x.conf:2: this is not key=\"value\"") << line;
  }
  EXPECT_EQ(Refusal("a=1\n[section]\n"), "x.conf:2: there are no sections in this file");
}

TEST(ParseConfig, RefusesQuotesThatDoNotEnd) {
  for (const char* line : {"a=\"x", "a='x", "a=\"x'", "a=\""}) {
    EXPECT_EQ(Refusal(line), "x.conf:1: the quote does not end on this line") << line;
  }
  EXPECT_THAT(Refusal("a=\"x\" y"), HasSubstr("behind the value's second quote"));
  EXPECT_THAT(Refusal("a=\xE2\x80\x9Cx\xE2\x80\x9D"), HasSubstr("typographic quotes"));
  for (const char* line : {"a=x y", "a=x#y", "a=x\"y\"", "a=[1,2]", "a=x'"}) {
    EXPECT_EQ(Refusal(line), "x.conf:1: the value must be in quotes") << line;
  }
}

TEST(ParseConfig, RefusesAValueThatIsEmpty) {
  for (const char* line : {"a=", "a=\"\"", "a=''", "a= # why", "a=\"\" # why"}) {
    EXPECT_EQ(Refusal(line), "x.conf:1: the value of a is empty: leave out the line") << line;
  }
}

TEST(ParseConfig, RefusesAKeyThatIsGivenTwiceWithBothLines) {
  EXPECT_EQ(Refusal("a=1\nb=1\na=1\n"), "x.conf:3: a is given twice, first in line 1: keep one of them");
}

TEST(ParseConfig, RefusesOtherEncodingsAndControlCharacters) {
  EXPECT_THAT(Refusal(std::string("\xFF\xFE"
                                  "a\0=\0",
                                  6)),
              HasSubstr("UTF-16"));
  EXPECT_THAT(Refusal(std::string("\0a\0=", 4)), HasSubstr("UTF-16"));
  EXPECT_THAT(Refusal("a=\"x\x01\""), HasSubstr("x.conf:1: there is a control character"));
  for (const char* text : {"\xC2\xA0# why", "a\xC2\xA0=1", "a=\xC2\xA0\"x\"", "a=x\xC2\xA0",
                           "\xEF\xBB\xBF\xEF\xBB\xBF"
                           "a=1"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("x.conf:1: there is a no-break or zero-width space")) << text;
  }
  EXPECT_EQ(Parse("a=/\xC3\xA4 # \xC2\xA0\nb=\"\xC2\xA0\"").size(), 2u);
  for (const char* text : {"a=1\rb=2", "# why\ra=1\rb=2\r", "# why\r\n# what\ra=1\r\n"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("ends with CR alone")) << "a comment would hide what comes after it";
  }
}

TEST(CheckReadable, TellsAMissingFileFromOneThatMayNotBeRead) {
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(CheckReadable(folder + "/nowhere").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(CheckReadable(folder).message()), HasSubstr("Is a directory"));
  const std::string loop = folder + "/config_file_test_loop";
  ::unlink(loop.c_str());
  ASSERT_EQ(::symlink(loop.c_str(), loop.c_str()), 0);
  EXPECT_THAT(std::string(CheckReadable(loop).message()), HasSubstr("Too many levels of symbolic links"));
  ::unlink(loop.c_str());
}

}  // namespace
}  // namespace blink
