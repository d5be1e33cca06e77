#include "tools/audit/canaries.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/kit.h"
#include "tests/testing/random_doubles.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Lt;

Canaries Some(uint32_t n, std::vector<NodeRange> nodes, uint32_t entries = 0, uint64_t seed = 1) {
  SeededRandom random(seed);
  const absl::StatusOr<Canaries> canaries = MakeCanaries(n, std::move(nodes), entries, random);
  EXPECT_TRUE(canaries.ok()) << canaries.status();
  return *canaries;
}

// 100 lists of 1,000 coins: a fair coin fails each of the bounds with a probability below 1e-9 (6 deviations).
TEST(CanaryLists, HoldFairAndDifferentCoins) {
  const Canaries canaries = Some(1001, {{0, 99}});
  EXPECT_EQ(canaries.entries, 1000u);
  EXPECT_EQ(canaries.coins(), 100'000u);
  uint64_t ones = 0, as_next = 0;
  std::vector<bool> before = canaries.CoinsOf(100);
  for (NodeIndex node = 0; node < 100; ++node) {
    const std::vector<bool> coins = canaries.CoinsOf(node);
    for (uint32_t t = 0; t < 1000; ++t) {
      ones += coins[t];
      as_next += coins[t] == before[t];
    }
    before = coins;
  }
  EXPECT_NEAR(static_cast<double>(ones), 50'000, 950);
  EXPECT_NEAR(static_cast<double>(as_next), 50'000, 950);
}

TEST(CanaryLists, AreListsThatANodeTakes) {
  for (const uint32_t entries : {1u, 7u, 63u}) {
    const Canaries canaries = Some(64, {{60, 63}}, entries);
    for (NodeIndex node = 60; node < 64; ++node) {
      const std::vector<NodeIndex> list = canaries.ListOf(node);
      EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
      EXPECT_EQ(std::set<NodeIndex>(list.begin(), list.end()).size(), list.size());
      EXPECT_THAT(list, Each(Lt(64u)));
      EXPECT_THAT(list, Each(::testing::Ne(node)));
      EXPECT_LE(list.size(), entries);
    }
  }
  EXPECT_EQ(Some(64, {{63, 63}}, 3).EntryOf(63, 2), 2u) << "after the last node comes the first";
}

TEST(CanaryLists, DependOnTheSeedAndTheNodeAlone) {
  EXPECT_EQ(Some(100, {{5, 9}}).ListOf(7), Some(100, {{7, 7}}).ListOf(7));
  EXPECT_NE(Some(100, {{5, 9}}).ListOf(7), Some(100, {{5, 9}}, 0, 2).ListOf(7));
  EXPECT_NE(Some(100, {{5, 9}}).ListOf(7), Some(100, {{5, 9}}).ListOf(8));
}

class CanaryFiles : public testing::FolderTest {
 protected:
  absl::StatusOr<Canaries> ReadChanged(const std::string& from, const std::string& to) {
    const std::string text = CanariesToJson(Some(100, {{3, 3}, {10, 19}}));
    EXPECT_THAT(text, HasSubstr(from));
    Write("canaries.json", absl::StrReplaceAll(text, {{from, to}}));
    return ReadCanaries(Path("canaries.json"));
  }
};

TEST_F(CanaryFiles, ComeBackAsTheyWereWritten) {
  const Canaries canaries = Some(100, {{10, 19}, {3, 3}}, 40);
  ASSERT_TRUE(WriteCanaries(canaries, {{10, 19}, {3, 3}}, Path("made")).ok());
  const absl::StatusOr<Canaries> read = ReadCanaries(Path("made/canaries.json"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(CanariesToJson(*read), CanariesToJson(canaries));
  EXPECT_THAT(read->nodes, ElementsAre(NodeRange{3, 3}, NodeRange{10, 19}));
  const auto mode = std::filesystem::status(Path("made/canaries.json")).permissions();
  EXPECT_EQ(mode & std::filesystem::perms::others_read, std::filesystem::perms::none) << "the seed is a secret";
}

TEST_F(CanaryFiles, HoldListsThatAKitTakes) {
  const Canaries canaries = Some(100, {{10, 19}});
  ASSERT_TRUE(WriteCanaries(canaries, {{10, 19}}, Path("made")).ok());
  KitConfig config;
  config.first_node = 10;
  config.last_node = 19;
  config.node_count = 100;
  config.folder = Path("made/nodes-10-19");
  const absl::StatusOr<AdjacencyLists> lists = LoadLists(config);
  ASSERT_TRUE(lists.ok()) << lists.status();
  for (NodeIndex node = 10; node <= 19; ++node) EXPECT_EQ(lists->Of(node), absl::MakeConstSpan(canaries.ListOf(node)));
}

TEST_F(CanaryFiles, AreNeverReplaced) {
  const Canaries canaries = Some(100, {{3, 3}});
  ASSERT_TRUE(WriteCanaries(canaries, {{3, 3}}, Path("made")).ok());
  const absl::Status again = WriteCanaries(Some(100, {{3, 3}}, 0, 2), {{3, 3}}, Path("made"));
  EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read("made/canaries.json"), CanariesToJson(canaries));
}

TEST(MakeCanariesRefuses, NodesThatAreOutOfRangeOrNamedTwice) {
  SeededRandom random(1);
  EXPECT_THAT(std::string(MakeCanaries(100, {{3, 100}}, 0, random).status().message()), HasSubstr("3-100"));
  EXPECT_THAT(std::string(MakeCanaries(100, {{5, 9}, {1, 5}}, 0, random).status().message()),
              HasSubstr("node 5 is a canary twice"));
  EXPECT_FALSE(MakeCanaries(100, {}, 0, random).ok());
  EXPECT_FALSE(MakeCanaries(2, {{0, 0}}, 0, random).ok());
  EXPECT_FALSE(MakeCanaries(0, {{0, 0}}, 0, random).ok());
}

TEST(MakeCanariesRefuses, MoreCoinsThanAListHasEntries) {
  SeededRandom random(1);
  EXPECT_TRUE(MakeCanaries(100, {{3, 3}}, 99, random).ok());
  EXPECT_THAT(std::string(MakeCanaries(100, {{3, 3}}, 100, random).status().message()), HasSubstr("1 .. 99"));
}

TEST(MakeCanariesRefuses, ARandomSourceThatFails) {
  FailingRandom random;
  EXPECT_EQ(MakeCanaries(100, {{3, 3}}, 0, random).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CanaryFiles, AreRefusedWhenTheyAreMissingOrMalformed) {
  EXPECT_EQ(ReadCanaries(Path("nowhere.json")).status().code(), absl::StatusCode::kNotFound);
  for (const auto& [from, to, named] :
       std::vector<std::array<std::string, 3>>{{"\"format\":1", "\"format\":2", "format"},
                                               {"\"node_count\":100", "\"node_count\":2", "node_count"},
                                               {"\"entries\":99", "\"entries\":100", "entries"},
                                               {"\"entries\":99", "\"entries\":0", "entries"},
                                               {"\"seed\":\"", "\"seed\":\"00", "seed"},
                                               {"\"seed\":\"", "\"seed\":\"x", "seed"},
                                               {"[3,3]", "[3,100]", "3-100"},
                                               {"[3,3]", "[10,12]", "twice"},
                                               {"[3,3]", "3", "canaries"},
                                               {"[[3,3],[10,19]]", "[]", "canary"},
                                               {"\"format\"", "\"colour\":1,\"format\"", "colour"}}) {
    const absl::StatusOr<Canaries> read = ReadChanged(from, to);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << to;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(named));
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("canaries.json"));
  }
}

}  // namespace
}  // namespace blink
