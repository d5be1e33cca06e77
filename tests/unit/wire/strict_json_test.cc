#include "common/wire/strict_json.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::Truly;

std::string Refusal(const std::string& text) { return std::string(ParseStrictJson(text, "x.json").status().message()); }

TEST(StrictJson, ReadsObjectsInArraysInObjects) {
  const auto json = ParseStrictJson(R"({"a": [{"b": 1}, {"b": 2}], "c": {"a": 1}})", "x.json");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->at("a").at(1).at("b"), 2);
}

TEST(StrictJson, RefusesAKeyThatAnyObjectHoldsTwice) {
  EXPECT_EQ(Refusal("{\"a\": 1,\n\n\"a\": 1}"), "x.json:3: the key \"a\" is given twice; keep one of them");
  EXPECT_EQ(Refusal(R"({"a": [{"b": 1}, {"b": 1, "c": 2, "b": 1}]})"),
            "x.json:1: the key \"b\" is given twice; keep one of them");
  EXPECT_EQ(Refusal(R"({"": 1, "": 2})"), "x.json:1: the key \"\" is given twice; keep one of them");
}

TEST(StrictJson, NamesTheLineOfAKey) {
  const std::string text =
      "{\"a\": 1,\n \"first\": [\"b\", 2],\n \"nodes\": {\n  \"first\": 1,\n  \"b\": \"first\"}, \"c\": 1}";
  EXPECT_EQ(PlaceOfKey(text, "x.json", "a"), "x.json:1: ");
  EXPECT_EQ(PlaceOfKey(text, "x.json", "first"), "x.json:2: ");
  EXPECT_EQ(PlaceOfKey(text, "x.json", "nodes.first"), "x.json:4: ");
  EXPECT_EQ(PlaceOfKey(text, "", "c"), "line 5: ");
  EXPECT_EQ(PlaceOfKey(text, "x.json", "b"), "x.json: ") << "the one of nodes is nodes.b";
  EXPECT_EQ(PlaceOfKey(text, "", "none"), "");
  const auto json = ParseStrictJson(text, "x.json");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(JsonMembers(*json, "x.json", "", &text).RefuseUnknown({"a", "first", "nodes"}).message(),
            "x.json:5: unknown key \"c\"; remove it or correct its spelling");
  EXPECT_EQ(JsonMembers(json->at("nodes"), "x.json", "nodes.", &text).RefuseUnknown({"first"}).message(),
            "x.json:5: unknown key \"nodes.b\"; remove it or correct its spelling");
  EXPECT_EQ(JsonMembers(*json, "x.json", "").RefuseUnknown({"first", "nodes"}).message(),
            "x.json: unknown key \"a\"; remove it or correct its spelling");
}

TEST(StrictJson, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "1", "{\"a\": 1e999}", "{\"a\": 1,}", "{} {}"}) {
    EXPECT_THAT(Refusal(text), StartsWith("x.json:")) << text;
  }
}

TEST(StrictJson, RefusesDamagedBytesInPrintableWordsOfOneLine) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  for (const std::string& text :
       {std::string("{\"a\": \"\xff\xfe\x80\"}"), std::string("{\"a\": \"\x1b[2J\"}"), std::string("{\"a\n\xc3"),
        std::string("\x80\x81{}"), absl::StrCat("{\"", std::string(100'000, 'x'))}) {
    EXPECT_THAT(Refusal(text), AllOf(HasSubstr("not JSON: "), Each(Truly(printable)))) << text.substr(0, 20);
    EXPECT_LE(Refusal(text).size(), 300u) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace blink
