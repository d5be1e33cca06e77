// The audit of a round catches what it is for, and accuses no honest round. Fixed seeds; kFalseAlarmMax = 1e-6 bounds
// the probability that the audit of one honest round fails under another seed. z: a fault's size in standard deviations
// of the count that shows it, against a threshold of 5.4.
#include "tools/audit/round_audit.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/privacy/discrete_laplace.h"
#include "common/privacy/own_pairs.h"
#include "common/privacy/randomized_response.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/audited_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint32_t kNodes = 2708;  // Cora's, with its mean degree
constexpr double kMeanDegree = 3.9;

PrivacyParameters Parameters(uint64_t epsilon_micro, uint32_t share_ppm, uint32_t n = kNodes) {
  return *PrivacyParameters::Create(epsilon_micro, share_ppm, n);
}

EpsilonBound BoundOf(const RoundAudit& audit, const std::string& of) {
  for (const EpsilonBound& bound : audit.bounds) {
    if (bound.of.starts_with(of)) return bound;
  }
  ADD_FAILURE() << "no bound of " << of;
  return {};
}

RoundAudit AuditOf(const PrivacyParameters& parameters, const Lists& lists, uint64_t seed,
                   const RoundFaults& faults = {}, const Canaries* canaries = nullptr) {
  const absl::StatusOr<RoundAudit> audit =
      AuditRound(DrawRound(parameters, lists, seed, faults), KnownOf(lists), canaries);
  EXPECT_TRUE(audit.ok()) << audit.status();
  return *audit;
}

// Flips of another probability.
RoundFaults FlipRate(double factor) {
  return {
      .noise = [factor](NodeIndex node, const std::vector<NodeIndex>& list, ReportNoise& noise, RandomSource& random) {
        const uint64_t promised = PrivacyParameters::Create(1'000'000, 0, kNodes)->flip_numerator();
        RandomBits bits(random);
        FillBernoulli(static_cast<uint64_t>(static_cast<double>(promised) * factor), bits, noise.flips.mutable_words());
        noise.flips.ClearTail();
        if (noise.flips.size() == kNodes) noise.flips.Clear(node);
      }};
}

// 8 audits: an honest build fails one of them with probability 8e-6 at most. 7.3 million bits say much, so the pooled
// bound at epsilon = 1 is within 1 %.
TEST(RoundAudit, AccusesNoHonestRound) {
  const Lists lists = RandomLists(kNodes, kMeanDegree, 1);
  for (const uint64_t epsilon : {1u, 4u}) {
    for (const uint32_t share : {0u, 50'000u, 500'000u, 1'000'000u}) {
      const RoundAudit audit = AuditOf(Parameters(epsilon * 1'000'000, share), lists, epsilon + share);
      EXPECT_TRUE(audit.passed()) << epsilon << ", " << share;
      EXPECT_THAT(audit.notes, IsEmpty());
      for (const EpsilonBound& bound : audit.bounds) EXPECT_LE(bound.lower, bound.promised) << bound.of;
      EXPECT_EQ(audit.audited, kNodes);
      if (share == 0 && epsilon == 1) {
        EXPECT_GT(BoundOf(audit, "an entry, over all bits").lower, 0.99);
      }
      if (share == 1'000'000) {
        EXPECT_GT(BoundOf(audit, "a degree").lower, 0.8 * static_cast<double>(epsilon));
      }
    }
  }
}

// z = 33: missed with probability below 1e-150.
TEST(RoundAudit, FindsAFlipProbabilityThatIsTwoPercentTooSmall) {
  const Lists lists = RandomLists(kNodes, kMeanDegree, 1);
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const RoundAudit audit = AuditOf(Parameters(1'000'000, 0), lists, seed, FlipRate(0.98));
    EXPECT_FALSE(audit.passed());
    const EpsilonBound bound = BoundOf(audit, "an entry, over all bits");
    EXPECT_TRUE(bound.violated);
    const double flipped = 0.98 * Parameters(1'000'000, 0).flip_probability();
    EXPECT_LE(bound.lower, std::log((1 - flipped) / flipped)) << "a bound from below, also of a broken mechanism";
    EXPECT_GT(bound.lower, 1.02);
    EXPECT_LT(audit.power.flip_rate_change.value(), 0.02);
  }
}

// 0.5 % is z = 8.2: noticed with probability 0.997.
TEST(RoundAudit, FindsAFlipProbabilityThatIsHalfAPercentTooSmall) {
  EXPECT_FALSE(AuditOf(Parameters(1'000'000, 0), RandomLists(kNodes, kMeanDegree, 1), 1, FlipRate(0.995)).passed());
}

TEST(RoundAudit, NotesAFlipProbabilityThatIsTooLargeAndAccusesNobody) {
  const RoundAudit audit = AuditOf(Parameters(1'000'000, 0), RandomLists(kNodes, kMeanDegree, 1), 1, FlipRate(1.05));
  EXPECT_TRUE(audit.passed());
  ASSERT_THAT(audit.notes, Not(IsEmpty()));
  EXPECT_THAT(audit.notes[0], HasSubstr("accuracy is lost"));
}

// z = 40 for a node that flips nothing; the round as a whole hardly shows it.
TEST(RoundAudit, NamesANodeThatSendsItsListWithoutNoise) {
  const RoundAudit audit =
      AuditOf(Parameters(1'000'000, 0), RandomLists(kNodes, kMeanDegree, 1), 1,
              {.noise = [](NodeIndex node, const std::vector<NodeIndex>&, ReportNoise& noise, RandomSource&) {
                if (node == 77) noise.flips = BitRow(kNodes);
              }});
  EXPECT_TRUE(BoundOf(audit, "the node that flips least: 77").violated);
}

TEST(RoundAudit, NamesABitThatNobodyFlips) {
  const RoundAudit audit = AuditOf(Parameters(1'000'000, 0), RandomLists(kNodes, kMeanDegree, 1), 1,
                                   {.noise = [](NodeIndex, const std::vector<NodeIndex>&, ReportNoise& noise,
                                                RandomSource&) { noise.flips.Clear(2707); }});
  EXPECT_TRUE(BoundOf(audit, "the bit that is flipped least: 2707").violated);
}

// Of 2,708 bits 1,065 are expected to be flipped in one of two reports alone, and next to none with the same noise.
TEST(RoundAudit, FindsNoiseThatTwoNodesShare) {
  std::optional<BitRow> kept;
  const RoundAudit audit =
      AuditOf(Parameters(1'000'000, 0), RandomLists(kNodes, kMeanDegree, 1), 1,
              {.noise = [&kept](NodeIndex node, const std::vector<NodeIndex>&, ReportNoise& noise, RandomSource&) {
                if (node == 5) kept = noise.flips;
                if (node != 900) return;
                noise.flips = *kept;
                noise.flips.Clear(node);
              }});
  EXPECT_FALSE(audit.passed());
  ASSERT_EQ(audit.checks.size(), 1u);
  EXPECT_TRUE(audit.checks[0].violated);
  EXPECT_THAT(audit.checks[0].worst, HasSubstr("nodes 5 and 900"));
}

// The own pairs of two nodes lie elsewhere, and their noise at the same places.
TEST(RoundAudit, FindsNoiseThatTwoNodesShareWhereOneEndReports) {
  std::optional<BitRow> kept;
  const PrivacyParameters parameters = *PrivacyParameters::Create(2'000'000, 0, kNodes, Mechanism::kOneEnd);
  const RoundAudit audit =
      AuditOf(parameters, RandomLists(kNodes, kMeanDegree, 1), 1,
              {.noise = [&kept](NodeIndex node, const std::vector<NodeIndex>&, ReportNoise& noise, RandomSource&) {
                if (node == 5) kept = noise.flips;
                if (node != 900) return;
                for (NodeIndex bit = 0; bit < std::min(kept->size(), noise.flips.size()); ++bit)
                  kept->Test(bit) ? noise.flips.Set(bit) : noise.flips.Clear(bit);
              }});
  ASSERT_EQ(audit.checks.size(), 1u);
  EXPECT_TRUE(audit.checks[0].violated);
  EXPECT_THAT(audit.checks[0].worst, HasSubstr("nodes 5 and 900"));
}

// Half of the scale is z = 30 and more in the tails.
TEST(RoundAudit, FindsDegreeNoiseOfHalfItsScale) {
  for (const uint32_t share : {50'000u, 500'000u, 1'000'000u}) {
    const PrivacyParameters parameters = Parameters(2'000'000, share);
    const RoundAudit audit = AuditOf(
        parameters, RandomLists(kNodes, kMeanDegree, 1), 1,
        {.noise = [&](NodeIndex, const std::vector<NodeIndex>&, ReportNoise& noise, RandomSource& random) {
          RandomBits bits(random);
          noise.degree_noise = DrawDiscreteLaplace(2 * parameters.degree_epsilon_numerator(), 1'000'000'000'000, bits);
        }});
    EXPECT_FALSE(audit.passed());
    EXPECT_TRUE(BoundOf(audit, "a degree").violated) << share;
    EXPECT_LE(BoundOf(audit, "a degree").lower, 2 * parameters.epsilon_degree());
  }
}

// Noise that is never below 0 gives an upper limit of the degree with certainty. The chance that 2,708 honest nodes
// have none is nil.
TEST(RoundAudit, FindsDegreeNoiseOfOneSign) {
  const RoundAudit audit =
      AuditOf(Parameters(2'000'000, 500'000), RandomLists(kNodes, kMeanDegree, 1), 1,
              {.noise = [](NodeIndex, const std::vector<NodeIndex>&, ReportNoise& noise, RandomSource&) {
                noise.degree_noise = std::abs(*noise.degree_noise);
              }});
  EXPECT_TRUE(BoundOf(audit, "a degree").violated);
}

TEST(RoundAudit, NotesDegreesWithTwiceTheNoise) {
  const PrivacyParameters parameters = Parameters(2'000'000, 500'000);
  const RoundAudit audit = AuditOf(
      parameters, RandomLists(kNodes, kMeanDegree, 1), 1,
      {.noise = [&](NodeIndex, const std::vector<NodeIndex>&, ReportNoise& noise, RandomSource& random) {
        RandomBits bits(random);
        noise.degree_noise = DrawDiscreteLaplace(parameters.degree_epsilon_numerator() / 2, 1'000'000'000'000, bits);
      }});
  EXPECT_TRUE(audit.passed());
  EXPECT_THAT(audit.notes, ::testing::Contains(HasSubstr("the degrees spend")));
}

// Half of the nodes reported on lists of 30 more links, all of them to the same nodes. Compared with the old lists, all
// of their reports seem to flip the same bits.
TEST(RoundAudit, AccusesNobodyWhenListsAreStale) {
  for (const uint32_t links : {30u, 1000u}) {
    const Lists known = RandomLists(kNodes, kMeanDegree, 1);
    Lists reported = known;
    for (NodeIndex node = 1000; node < 2000; ++node) {
      for (NodeIndex hub = 2000; hub < 2000 + links; ++hub) reported[node].push_back(hub % kNodes);
      std::sort(reported[node].begin(), reported[node].end());
      reported[node].erase(std::unique(reported[node].begin(), reported[node].end()), reported[node].end());
      std::erase(reported[node], node);
    }
    const absl::StatusOr<RoundAudit> audit =
        AuditRound(DrawRound(Parameters(1'000'000, 50'000), reported, 1), KnownOf(known), nullptr);
    ASSERT_TRUE(audit.ok()) << audit.status();
    EXPECT_TRUE(audit->passed()) << links;
    if (links == 1000) {
      EXPECT_THAT(audit->notes, ::testing::Contains(HasSubstr("1000 of 2708 reports differ")));
    }
  }
}

// What nodes have in common since: a hub, a clique. Where few bits are flipped, a few entries are much.
TEST(RoundAudit, AccusesNobodyWhoseListsChangedInTheSamePlaces) {
  for (const uint64_t epsilon : {1u, 4u, 6u, 8u, 12u}) {
    for (const Mechanism mechanism : {Mechanism::kBothEnds, Mechanism::kOneEnd}) {
      for (const bool gone : {false, true}) {
        Lists known = RandomLists(kNodes, kMeanDegree, 1), reported = known;
        Lists& longer = gone ? reported : known;
        for (NodeIndex node = 0; node < 20; ++node) {
          for (NodeIndex hub = 1000; hub < 1011; ++hub) longer[node].push_back(hub);
          std::sort(longer[node].begin(), longer[node].end());
          longer[node].erase(std::unique(longer[node].begin(), longer[node].end()), longer[node].end());
        }
        const PrivacyParameters parameters = *PrivacyParameters::Create(epsilon * 1'000'000, 50'000, kNodes, mechanism);
        const absl::StatusOr<RoundAudit> audit =
            AuditRound(DrawRound(parameters, reported, 1), KnownOf(known), nullptr);
        ASSERT_TRUE(audit.ok()) << audit.status();
        EXPECT_TRUE(audit->passed()) << epsilon << MechanismName(mechanism) << gone;
      }
    }
  }
}

// Half as many bits: z = 23.
TEST(RoundAudit, LooksAtTheEntriesThatAReportIsAboutWhereOneEndReports) {
  const Lists lists = RandomLists(kNodes, kMeanDegree, 1);
  const PrivacyParameters parameters = *PrivacyParameters::Create(1'000'000, 50'000, kNodes, Mechanism::kOneEnd);
  const RoundAudit honest = AuditOf(parameters, lists, 1);
  EXPECT_TRUE(honest.passed());
  EXPECT_THAT(honest.notes, IsEmpty());
  EXPECT_EQ(honest.bits, uint64_t{kNodes} * (kNodes - 1) / 2);
  EXPECT_GT(BoundOf(honest, "an entry, over all bits").lower, 0.93);
  const PrivacyParameters bits_alone = *PrivacyParameters::Create(1'000'000, 0, kNodes, Mechanism::kOneEnd);
  EXPECT_FALSE(AuditOf(bits_alone, lists, 1, FlipRate(0.98)).passed());

  SeededRandom random(8);
  const Canaries canaries = *MakeCanaries(kNodes, {{10, 29}}, 0, random);
  Lists with_canaries = lists;
  for (NodeIndex node = 10; node <= 29; ++node) with_canaries[node] = canaries.ListOf(node);
  const RoundAudit coins = AuditOf(bits_alone, with_canaries, 2, {}, &canaries);
  EXPECT_TRUE(coins.passed());
  EXPECT_NEAR(static_cast<double>(coins.coins), 10.0 * (kNodes - 1), 20);
  EXPECT_GT(BoundOf(coins, "a coin").lower, 0.85);
}

// ---- Canaries ----

Canaries SomeCanaries(uint32_t entries = 0, uint64_t seed = 8) {
  SeededRandom random(seed);
  return *MakeCanaries(kNodes, {{10, 29}}, entries, random);
}

Lists WithCanaries(Lists lists, const Canaries& canaries) {
  for (NodeIndex node = 10; node <= 29; ++node) lists[node] = canaries.ListOf(node);
  return lists;
}

// 54,140 coins: the standard deviation of the bound is 0.0097, so it lies 0.05 below the promise.
TEST(CanaryAudit, ComesNearTheBudgetOfAnHonestRound) {
  for (const uint32_t entries : {0u, 1000u}) {
    const Canaries canaries = SomeCanaries(entries);
    const Lists lists = WithCanaries(RandomLists(kNodes, kMeanDegree, 1), canaries);
    const RoundAudit audit = AuditOf(Parameters(1'000'000, 0), lists, 4, {}, &canaries);
    EXPECT_TRUE(audit.passed());
    EXPECT_EQ(audit.canaries, 20u);
    EXPECT_EQ(audit.coins, 20u * canaries.entries);
    const EpsilonBound bound = BoundOf(audit, "a coin");
    EXPECT_EQ(bound.promised, 1.0);
    EXPECT_GT(bound.lower, entries == 0 ? 0.9 : 0.8);
  }
}

TEST(CanaryAudit, NeedsNoOtherList) {
  const Canaries canaries = SomeCanaries();
  const Lists lists = WithCanaries(RandomLists(kNodes, kMeanDegree, 1), canaries);
  const absl::StatusOr<RoundAudit> audit =
      AuditRound(DrawRound(Parameters(1'000'000, 0), lists, 5), KnownLists(kNodes), &canaries);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->audited, 20u);
  EXPECT_TRUE(audit->passed());
}

// The flips are right one by one, and there are enough of them. But a link tells the node not to flip the next bit: of
// the coins after a link all are seen. q = 0.87 instead of 0.73: z = 70.
TEST(CanaryAudit, FindsAReportThatDependsOnASecondEntry) {
  const Canaries canaries = SomeCanaries();
  const Lists lists = WithCanaries(RandomLists(kNodes, kMeanDegree, 1), canaries);
  const RoundAudit audit =
      AuditOf(Parameters(1'000'000, 0), lists, 6,
              {.noise =
                   [](NodeIndex, const std::vector<NodeIndex>& list, ReportNoise& noise, RandomSource&) {
                     for (const NodeIndex j : list) {
                       if (j + 1 < kNodes) noise.flips.Clear(j + 1);
                     }
                   }},
              &canaries);
  EXPECT_TRUE(BoundOf(audit, "a coin").violated);
}

// A list in the clear, but each entry at the place after its own, or the other way round. The other bounds see noise.
TEST(CanaryAudit, FindsAListThatIsShiftedOrInverted) {
  const Canaries canaries = SomeCanaries();
  const Lists lists = WithCanaries(RandomLists(kNodes, kMeanDegree, 1), canaries);
  for (const Mechanism mechanism : {Mechanism::kBothEnds, Mechanism::kOneEnd}) {
    const PrivacyParameters parameters = *PrivacyParameters::Create(1'000'000, 0, kNodes, mechanism);
    for (const int shift : {-1, 0, 1}) {
      const RoundAudit audit =
          AuditOf(parameters, lists, 8,
                  {.report =
                       [&](NodeIndex node, const std::vector<NodeIndex>& list, PrivateReport& report) {
                         const bool both_ends = mechanism == Mechanism::kBothEnds;
                         report.bits = BitRow(report.bits.size());
                         for (const NodeIndex j : list) {
                           if (!both_ends && !OwnsPair(node, j)) continue;
                           const int64_t place = (both_ends ? int64_t{j} : int64_t{OwnPairPlace(node, j)}) + shift;
                           if (place < 0 || place >= report.bits.size() || (both_ends && place == node)) continue;
                           report.bits.Set(static_cast<uint32_t>(place));
                         }
                         for (uint32_t place = 0; shift == 0 && place < report.bits.size(); ++place) {
                           if (both_ends && place == node) continue;
                           report.bits.Test(place) ? report.bits.Clear(place) : report.bits.Set(place);
                         }
                       }},
                  &canaries);
      EXPECT_TRUE(BoundOf(audit, "a coin").violated) << MechanismName(mechanism) << ", " << shift;
    }
  }
}

// Not every kept bit is a guess about the entry of its place: a mechanism that is no randomised response and spends
// nothing at all passes, although half of its bits equal the entries.
TEST(CanaryAudit, AccusesNoMechanismThatIgnoresItsList) {
  const Canaries canaries = SomeCanaries();
  const Lists lists = WithCanaries(RandomLists(kNodes, kMeanDegree, 1), canaries);
  const absl::StatusOr<RoundAudit> audit =
      AuditRound(DrawRound(Parameters(1'000'000, 0), Lists(kNodes), 7), KnownLists(kNodes), &canaries);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_FALSE(BoundOf(*audit, "a coin").violated);
  EXPECT_LT(BoundOf(*audit, "a coin").lower, 0.1);
  EXPECT_NEAR(static_cast<double>(audit->coins_guessed) / static_cast<double>(audit->coins), 0.5, 0.02);
}

}  // namespace
}  // namespace blink
