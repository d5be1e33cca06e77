#include "common/privacy/privatizer.h"

#include <numeric>
#include <vector>

#include "common/privacy/own_pairs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PrivacyParameters Parameters(uint64_t epsilon_micro, uint32_t share, uint32_t nodes,
                             Mechanism mechanism = Mechanism::kBothEnds) {
  return *PrivacyParameters::Create(epsilon_micro, share, nodes, mechanism);
}

PrivateReport Report(const PrivacyParameters& parameters, NodeIndex self, std::vector<NodeIndex> list,
                     uint64_t seed = 1) {
  SeededRandom random(seed);
  auto noise = DrawNoise(parameters, self, random);
  EXPECT_TRUE(noise.ok());
  auto report = ApplyNoise(parameters, self, *std::move(noise), list);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

TEST(Privatizer, XorsTheFlipsAndAddsTheDegreeNoise) {
  const auto parameters = Parameters(2'000'000, 200'000, 200);
  SeededRandom random(5), again(5);
  const ReportNoise noise = *DrawNoise(parameters, 7, random);
  const std::vector<NodeIndex> list = {199, 0, 64, 63};
  const PrivateReport report = *ApplyNoise(parameters, 7, *DrawNoise(parameters, 7, again), list);
  for (uint32_t j = 0; j < 200; ++j) {
    const bool linked = std::find(list.begin(), list.end(), j) != list.end();
    EXPECT_EQ(report.bits.Test(j), linked != noise.flips.Test(j)) << j;
  }
  EXPECT_EQ(*report.noisy_degree, 4 + *noise.degree_noise);
}

TEST(Privatizer, IsAlmostTheListItselfAtTheLargestBudget) {
  const PrivateReport report = Report(Parameters(50'000'000, 500'000, 3), 1, {0, 2});
  EXPECT_TRUE(report.bits.Test(0));
  EXPECT_FALSE(report.bits.Test(1));
  EXPECT_TRUE(report.bits.Test(2));
  EXPECT_EQ(*report.noisy_degree, 2);
}

TEST(Privatizer, LeavesTheOwnBitAndTheTailZeroAtTheSmallestBudget) {
  for (const uint32_t n : {3u, 63u, 64u, 65u, 127u, 1000u}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<NodeIndex> all(n - 1);
      std::iota(all.begin(), all.end(), 1);
      for (const auto& list : {std::vector<NodeIndex>{}, all}) {
        const PrivateReport report = Report(Parameters(1, 0, n), 0, list, seed);
        EXPECT_FALSE(report.bits.Test(0));
        BitRow tail = report.bits;
        tail.ClearTail();
        EXPECT_EQ(tail, report.bits);
      }
    }
  }
}

TEST(Privatizer, SendsNoDegreeAtShareZeroAndNoBitsAtShareOne) {
  const PrivateReport bits_only = Report(Parameters(1'000'000, 0, 100), 5, {1, 2});
  EXPECT_EQ(bits_only.bits.size(), 100u);
  EXPECT_FALSE(bits_only.noisy_degree.has_value());
  const PrivateReport degree_only = Report(Parameters(1'000'000, 1'000'000, 100), 5, {1, 2});
  EXPECT_TRUE(degree_only.bits.empty());
  EXPECT_TRUE(degree_only.noisy_degree.has_value());
}

TEST(Privatizer, DrawsTheSameNumberOfBytesWhateverTheList) {
  // Drawing does not see a list at all; this pins that applying draws nothing and that one draw serves any list.
  const auto parameters = Parameters(1'000'000, 100'000, 5000);
  SeededRandom seeded(9);
  CountingRandom counting(seeded);
  const ReportNoise noise = *DrawNoise(parameters, 0, counting);
  const uint64_t bytes = counting.bytes();
  const PrivateReport empty = *ApplyNoise(parameters, 0, noise, {});
  std::vector<NodeIndex> all(4999);
  std::iota(all.begin(), all.end(), 1);
  const PrivateReport full = *ApplyNoise(parameters, 0, noise, all);
  EXPECT_EQ(counting.bytes(), bytes);
  EXPECT_EQ(empty.bits.Count() + full.bits.Count(), 4999u);
  EXPECT_EQ(*full.noisy_degree - *empty.noisy_degree, 4999);
}

TEST(Privatizer, FetchesLittleMoreThanItNeeds) {
  for (const uint32_t n : {3u, 1024u, 22'470u, 1'000'000u}) {
    SeededRandom seeded(n);
    CountingRandom counting(seeded);
    ASSERT_TRUE(DrawNoise(Parameters(6'000'000, 100'000, n), 0, counting).ok());
    EXPECT_LT(counting.bytes(), 1.2 * 7.34 * n / 8 + 2048) << n;
  }
}

TEST(Privatizer, DrawsAMillionBits) {
  const PrivateReport report = Report(Parameters(6'000'000, 100'000, 1'000'000), 999'999, {0, 1});
  EXPECT_NEAR(report.bits.Count(), 1e6 * 0.0044963, 6 * 67);
}

TEST(Privatizer, FailsWhereverTheRandomSourceFails) {
  for (const uint32_t share : {0u, 100'000u, 1'000'000u}) {
    for (const uint32_t n : {3u, 1000u, 100'000u}) {
      const auto parameters = Parameters(1'000'000, share, n);
      SeededRandom good(1);  // what FailingRandom answers while it does
      CountingRandom counting(good);
      ASSERT_TRUE(DrawNoise(parameters, 0, counting).ok());
      ASSERT_GE(counting.calls(), 1u);
      for (int good_calls = 0; good_calls < static_cast<int>(counting.calls()); ++good_calls) {
        FailingRandom failing(good_calls);
        const auto noise = DrawNoise(parameters, 0, failing);
        EXPECT_EQ(noise.status().code(), absl::StatusCode::kUnavailable) << good_calls;
        EXPECT_EQ(failing.calls(), good_calls + 1);
      }
      FailingRandom late(static_cast<int>(counting.calls()));
      EXPECT_TRUE(DrawNoise(parameters, 0, late).ok());
    }
  }
}

TEST(Privatizer, FailsWhenOnlyTheDegreeIsDrawnAndTheSourceFails) {
  FailingRandom failing;
  EXPECT_EQ(DrawNoise(Parameters(1'000'000, 1'000'000, 100), 0, failing).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(Privatizer, RefusesAnOwnIndexBeyondTheRoster) {
  SeededRandom random(1);
  EXPECT_EQ(DrawNoise(Parameters(1, 0, 10), 10, random).status().code(), absl::StatusCode::kInvalidArgument);
}

void ExpectListRefused(std::vector<NodeIndex> list) {
  const auto parameters = Parameters(1'000'000, 100'000, 9001);
  SeededRandom random(1);
  const auto report = ApplyNoise(parameters, 4567, *DrawNoise(parameters, 4567, random), list);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  // A list is private: no message may quote it.
  for (const char* quoted : {"4567", "9001", "8888"}) {
    EXPECT_THAT(std::string(report.status().message()), Not(HasSubstr(quoted)));
  }
}
TEST(Privatizer, RefusesANeighbourBeyondTheRoster) { ExpectListRefused({1, 9001}); }
TEST(Privatizer, RefusesANodeAsItsOwnNeighbour) { ExpectListRefused({1, 4567}); }
TEST(Privatizer, RefusesANeighbourTwice) { ExpectListRefused({8888, 1, 8888}); }

std::vector<NodeIndex> OwnNeighbours(NodeIndex self, const std::vector<NodeIndex>& list) {
  std::vector<NodeIndex> own;
  for (const NodeIndex j : list) {
    if (OwnsPair(self, j)) own.push_back(j);
  }
  return own;
}

TEST(OneEndPrivatizer, XorsTheFlipsOfTheOwnPairsAndCountsTheirLinks) {
  const auto parameters = Parameters(2'000'000, 200'000, 200, Mechanism::kOneEnd);
  for (const NodeIndex self : {0u, 7u, 128u, 199u}) {
    SeededRandom random(5), again(5);
    const ReportNoise noise = *DrawNoise(parameters, self, random);
    std::vector<NodeIndex> list;
    for (const NodeIndex j : {198u, 3u, 64u, 63u, 65u}) list.push_back(j);
    const PrivateReport report = *ApplyNoise(parameters, self, *DrawNoise(parameters, self, again), list);
    ASSERT_EQ(report.bits.size(), OwnPairCount(self, 200));
    for (uint32_t place = 0; place < report.bits.size(); ++place) {
      const bool linked = std::find(list.begin(), list.end(), OwnPairAt(self, place)) != list.end();
      EXPECT_EQ(report.bits.Test(place), linked != noise.flips.Test(place)) << place;
    }
    EXPECT_EQ(*report.noisy_degree - *noise.degree_noise, static_cast<int64_t>(OwnNeighbours(self, list).size()));
  }
}

// What makes a link cost epsilon and not 2 epsilon.
TEST(OneEndPrivatizer, DependsOnNoEntryOfAnotherPair) {
  for (const uint32_t share : {0u, 300'000u, 1'000'000u}) {
    for (const uint32_t n : {3u, 64u, 101u, 5000u}) {
      const auto parameters = Parameters(1'000'000, share, n, Mechanism::kOneEnd);
      for (const NodeIndex self : {0u, 1u, 2u, n / 2, n - 1}) {
        std::vector<NodeIndex> all(n);
        std::iota(all.begin(), all.end(), 0);
        all.erase(all.begin() + self);
        SeededRandom a(3), b(3);
        const ReportNoise noise = *DrawNoise(parameters, self, a);
        EXPECT_EQ(ApplyNoise(parameters, self, noise, all).value(),
                  ApplyNoise(parameters, self, *DrawNoise(parameters, self, b), OwnNeighbours(self, all)).value())
            << self << " of " << n;
        std::vector<NodeIndex> others_alone;
        for (const NodeIndex j : all) {
          if (!OwnsPair(self, j)) others_alone.push_back(j);
        }
        EXPECT_EQ(ApplyNoise(parameters, self, noise, others_alone).value(),
                  ApplyNoise(parameters, self, noise, {}).value());
      }
    }
  }
}

TEST(OneEndPrivatizer, FetchesLittleMoreThanItsHalfNeeds) {
  for (const uint32_t n : {3u, 1024u, 22'470u, 1'000'000u}) {
    SeededRandom seeded(n);
    CountingRandom counting(seeded);
    ASSERT_TRUE(DrawNoise(Parameters(6'000'000, 100'000, n, Mechanism::kOneEnd), 0, counting).ok());
    EXPECT_LT(counting.bytes(), 1.2 * 7.34 * n / 16 + 2048) << n;
  }
}

TEST(OneEndPrivatizer, FailsWhereverTheRandomSourceFails) {
  const auto parameters = Parameters(1'000'000, 100'000, 100'000, Mechanism::kOneEnd);
  SeededRandom good(1);
  CountingRandom counting(good);
  ASSERT_TRUE(DrawNoise(parameters, 0, counting).ok());
  for (int good_calls = 0; good_calls < static_cast<int>(counting.calls()); ++good_calls) {
    FailingRandom failing(good_calls);
    EXPECT_EQ(DrawNoise(parameters, 0, failing).status().code(), absl::StatusCode::kUnavailable) << good_calls;
  }
}

// Also entries of which the report says nothing: a list is checked as a whole.
TEST(OneEndPrivatizer, RefusesAListThatIsNone) {
  const auto parameters = Parameters(1'000'000, 100'000, 100, Mechanism::kOneEnd);
  SeededRandom random(1);
  const ReportNoise noise = *DrawNoise(parameters, 6, random);
  for (const std::vector<NodeIndex>& list : {std::vector<NodeIndex>{100}, {6}, {2, 2}, {5, 5}}) {
    EXPECT_EQ(ApplyNoise(parameters, 6, noise, list).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(OneEndPrivatizer, RefusesTheNoiseOfTheOtherMechanism) {
  const auto both = Parameters(1'000'000, 100'000, 100), one = Parameters(1'000'000, 100'000, 100, Mechanism::kOneEnd);
  SeededRandom random(1);
  EXPECT_FALSE(ApplyNoise(one, 0, *DrawNoise(both, 0, random), {}).ok());
  EXPECT_FALSE(ApplyNoise(both, 0, *DrawNoise(one, 0, random), {}).ok());
}

TEST(Privatizer, RefusesNoiseDrawnForOtherParameters) {
  SeededRandom random(1);
  const auto parameters = Parameters(1'000'000, 100'000, 100);
  auto noise = DrawNoise(parameters, 0, random);
  EXPECT_FALSE(ApplyNoise(Parameters(1'000'000, 100'000, 101), 0, *noise, {}).ok());
  EXPECT_FALSE(ApplyNoise(Parameters(1'000'000, 0, 100), 0, *noise, {}).ok());
}

}  // namespace
}  // namespace blink
