#include "common/wire/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Roster Make(uint64_t version, uint32_t nodes, std::vector<NodeRange> retired = {}) {
  return Roster::Create("demo", version, nodes, std::move(retired)).value();
}

TEST(RosterTest, ComesBackFromJsonAsItWas) {
  const Roster roster = Make(3, 100, {{7, 7}, {20, 29}});
  EXPECT_EQ(
      roster.ToJson(),
      "{\"format\":1,\"deployment\":\"demo\",\"roster_version\":3,\"node_count\":100,\"retired\":[[7,7],[20,29]]}\n");
  EXPECT_EQ(Roster::FromJson(roster.ToJson()).value(), roster);
  EXPECT_EQ(roster.active_count(), 89u);
}

TEST(RosterTest, MergesTheRangesOfTheRetired) {
  EXPECT_THAT(Make(1, 100, {{20, 29}, {5, 9}, {10, 12}, {25, 40}}).retired(),
              ElementsAre(NodeRange{5, 12}, NodeRange{20, 40}));
}

TEST(RosterTest, KnowsWhoIsRetiredAsASlowSearchDoes) {
  const std::vector<NodeRange> ranges = {{3, 3}, {7, 12}, {14, 20}};
  const Roster roster = Make(1, 40, ranges);
  for (uint64_t node = 0; node < 40; ++node) {
    bool retired = false;
    for (const NodeRange& range : ranges) retired = retired || (range.first <= node && node <= range.last);
    EXPECT_EQ(roster.IsRetired(node), retired) << node;
  }
  EXPECT_FALSE(Make(1, 40).IsRetired(0));
}

TEST(RosterTest, GrowsAndRetires) {
  const Roster before = Make(1, 100, {{7, 7}});
  EXPECT_TRUE(before.CheckFollows(before).ok());
  EXPECT_TRUE(Make(2, 100, {{7, 7}}).CheckFollows(before).ok());
  EXPECT_TRUE(Make(9, 120, {{5, 8}, {101, 101}}).CheckFollows(before).ok());
}

TEST(RosterTest, RefusesToGoBackwards) {
  const Roster before = Make(2, 100, {{7, 8}});
  const auto why = [&](const Roster& roster) {
    const absl::Status status = roster.CheckFollows(before);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_THAT(why(Make(1, 100, {{7, 8}})), HasSubstr("never taken back"));
  EXPECT_THAT(why(Make(2, 101, {{7, 8}})), HasSubstr("another roster of this version"));
  EXPECT_THAT(why(Make(3, 99, {{7, 8}})), HasSubstr("ids never fall away"));
  EXPECT_THAT(why(Make(3, 100, {{7, 7}})), HasSubstr("never used again"));
  EXPECT_THAT(why(Make(3, 100)), HasSubstr("never used again"));
  EXPECT_THAT(why(Roster::Create("other", 3, 100, {{7, 8}}).value()), HasSubstr("deployment"));
}

TEST(RosterTest, RefusesRostersThatNobodyCanServe) {
  EXPECT_FALSE(Roster::Create("De mo", 1, 10, {}).ok());
  EXPECT_FALSE(Roster::Create("demo", 0, 10, {}).ok());
  EXPECT_FALSE(Roster::Create("demo", 1, 2, {}).ok());
  EXPECT_FALSE(Roster::Create("demo", 1, 10'000'001, {}).ok());
  EXPECT_FALSE(Roster::Create("demo", 1, 10, {{5, 10}}).ok());
  EXPECT_FALSE(Roster::Create("demo", 1, 10, {{5, 4}}).ok());
  EXPECT_THAT(std::string(Roster::Create("demo", 1, 10, {{0, 7}}).status().message()), HasSubstr("active"));
}

TEST(RosterTest, RefusesMalformedJson) {
  const std::string good = Make(3, 100, {{7, 7}, {20, 29}}).ToJson();
  for (const std::string& text :
       {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
        absl::StrReplaceAll(good, {{"\"format\":1", "\"format\":2"}}),
        absl::StrReplaceAll(good, {{"{\"format\"", "{\"colour\":1,\"format\""}}),
        absl::StrReplaceAll(good, {{",\"retired\":[[7,7],[20,29]]", ""}}),
        absl::StrReplaceAll(good, {{"[7,7]", "[7]"}}), absl::StrReplaceAll(good, {{"[7,7]", "[30,30]"}}),
        absl::StrReplaceAll(good, {{"[7,7]", "[7,19]"}}), absl::StrReplaceAll(good, {{"[7,7]", "[-1,7]"}}),
        absl::StrReplaceAll(good, {{":100", ":4294967396"}}), absl::StrReplaceAll(good, {{":100", ":\"100\""}})}) {
    EXPECT_EQ(Roster::FromJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace blink
