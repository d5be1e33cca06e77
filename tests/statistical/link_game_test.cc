// The game keeps honest mechanisms below the bound, and finds points of broken ones above it. Fixed seeds; an honest
// mechanism is accused with probability 1e-6 at most in each game. The faults lie more than 6 standard deviations of
// ln(TPR / FPR) above the bound, after a confidence interval of about 6.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "aggregator_server/estimate/beta/denoise.h"
#include "common/privacy/discrete_laplace.h"
#include "common/privacy/privatizer.h"
#include "common/privacy/randomized_response.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"
#include "tools/audit/game.h"

namespace blink {
namespace {

constexpr uint32_t kNodes = 16;
constexpr uint64_t kPlays = 20'000;

using Spoil =
    std::function<void(absl::Span<const NodeIndex> list, NodeIndex self, ReportNoise& noise, SeededRandom& random)>;

class SpoiltMechanism final : public AuditedMechanism {
 public:
  SpoiltMechanism(const PrivacyParameters& parameters, uint64_t seed, Spoil spoil)
      : parameters_(parameters), random_(seed), spoil_(std::move(spoil)) {}
  absl::StatusOr<AuditedReport> Report(NodeIndex self, absl::Span<const NodeIndex> list) override {
    ReportNoise noise = *DrawNoise(parameters_, self, random_);
    if (spoil_) spoil_(list, self, noise, random_);
    const PrivateReport report = *ApplyNoise(parameters_, self, std::move(noise), list);
    return AuditedReport{report.bits, static_cast<double>(report.noisy_degree.value_or(0))};
  }

 private:
  const PrivacyParameters parameters_;
  SeededRandom random_;
  const Spoil spoil_;
};

LinkGame Played(const PrivacyParameters& parameters, uint64_t seed, const Spoil& spoil = nullptr) {
  const absl::StatusOr<LinkGame> game = PlayLinkGame({.parameters = parameters, .plays = kPlays}, [&](int) {
    return std::make_unique<SpoiltMechanism>(parameters, seed, spoil);
  });
  EXPECT_TRUE(game.ok()) << game.status();
  return *game;
}

PrivacyParameters Parameters(uint64_t epsilon_micro, uint32_t share_ppm) {
  return *PrivacyParameters::Create(epsilon_micro, share_ppm, kNodes);
}

enum { kBoth, kFirst, kSecond, kEstimate };

// Six games: a failure has probability 6e-6 at most. The optimal attacker comes near the bound: of two entries with
// s = 0, ln(TPR / FPR) = 2 epsilon, and its interval is 0.25 wide at epsilon = 1.
TEST(LinkGame, KeepsEveryAttackerOfAnHonestMechanismBelowTheBound) {
  for (const uint64_t epsilon : {1u, 2u}) {
    for (const uint32_t share : {0u, 200'000u, 1'000'000u}) {
      const LinkGame game = Played(Parameters(1'000'000 * epsilon, share), epsilon + share);
      EXPECT_TRUE(game.passed()) << epsilon << ", " << share;
      EXPECT_EQ(game.plays_of_world, kPlays);
      ASSERT_EQ(game.attackers.size(), 4u);
      for (const GameAttacker& attacker : game.attackers) {
        EXPECT_LE(attacker.lower, attacker.promised) << attacker.sees;
        EXPECT_LE(attacker.right_guesses, attacker.right_guesses_max + 0.02);
        for (const RocPoint& point : attacker.roc) {
          EXPECT_LE(point.tpr.low, std::exp(attacker.promised) * point.fpr.high);
          EXPECT_LE(point.tpr.low, point.tpr.rate);
          EXPECT_GE(point.tpr.high, point.tpr.rate);
        }
      }
      EXPECT_EQ(game.attackers[kBoth].promised, 2.0 * static_cast<double>(epsilon));
      EXPECT_EQ(game.attackers[kFirst].promised, static_cast<double>(epsilon));
      if (epsilon == 1 && share == 0) {
        EXPECT_GT(game.attackers[kBoth].lower, 1.6);
        EXPECT_GT(game.attackers[kFirst].lower, 0.85);
      }
    }
  }
}

// With one end the link costs epsilon, and the report of i, which does not own the pair, tells nothing of it.
TEST(LinkGame, KeepsEveryAttackerBelowHalfTheBoundWhereOneEndReports) {
  for (const uint32_t share : {0u, 200'000u, 1'000'000u}) {
    const PrivacyParameters parameters = *PrivacyParameters::Create(1'000'000, share, kNodes, Mechanism::kOneEnd);
    const LinkGame game = Played(parameters, share + 3);
    EXPECT_TRUE(game.passed()) << share;
    EXPECT_EQ(game.attackers[kBoth].promised, 1.0);
    EXPECT_EQ(game.attackers[kFirst].promised, 0.0);
    EXPECT_EQ(game.attackers[kFirst].sees, "the other end's report alone");
    EXPECT_EQ(game.attackers[kSecond].promised, 1.0);
    EXPECT_EQ(game.attackers[kEstimate].promised, 1.0);
    EXPECT_LE(game.attackers[kEstimate].right_guesses, game.attackers[kEstimate].right_guesses_max + 0.02);
    if (share == 0) {
      EXPECT_GT(game.attackers[kBoth].lower, 0.85);
    }
  }
}

// Every flip that is missing where the node has a link that it does not own: the other report has fewer ones.
TEST(LinkGame, FindsAReportThatDependsOnAPairOfTheOtherEnd) {
  const PrivacyParameters parameters = *PrivacyParameters::Create(1'000'000, 0, kNodes, Mechanism::kOneEnd);
  const LinkGame game =
      Played(parameters, 9, [&](absl::Span<const NodeIndex> list, NodeIndex self, ReportNoise& noise, SeededRandom&) {
        for (const NodeIndex other : list) {
          if (self == kNodes - 2 && other == kNodes - 1) noise.flips = BitRow(noise.flips.size());
        }
      });
  EXPECT_TRUE(game.attackers[kFirst].violated);
}

// Three quarters of the flips: ln(TPR / FPR) is 2.75 instead of 2, a deviation 0.04.
TEST(LinkGame, FindsAFlipProbabilityThatIsTooSmall) {
  const PrivacyParameters parameters = Parameters(1'000'000, 0);
  const LinkGame game =
      Played(parameters, 1, [&](absl::Span<const NodeIndex>, NodeIndex self, ReportNoise& noise, SeededRandom& random) {
        RandomBits bits(random);
        FillBernoulli(parameters.flip_numerator() / 4 * 3, bits, noise.flips.mutable_words());
        noise.flips.ClearTail();
        noise.flips.Clear(self);
      });
  EXPECT_FALSE(game.passed());
  EXPECT_TRUE(game.attackers[kBoth].violated);
  EXPECT_TRUE(game.attackers[kFirst].violated);
  EXPECT_LE(game.attackers[kBoth].lower, 2.76) << "a bound from below, also of a broken mechanism";
}

// ln(TPR / FPR) is 4 instead of 2 for both degrees, and 2 instead of 1 for one.
TEST(LinkGame, FindsDegreeNoiseOfHalfItsScale) {
  const PrivacyParameters parameters = Parameters(1'000'000, 1'000'000);
  const LinkGame game =
      Played(parameters, 2, [&](absl::Span<const NodeIndex>, NodeIndex, ReportNoise& noise, SeededRandom& random) {
        RandomBits bits(random);
        noise.degree_noise = DrawDiscreteLaplace(2 * parameters.degree_epsilon_numerator(), 1'000'000'000'000, bits);
      });
  EXPECT_TRUE(game.attackers[kBoth].violated);
  EXPECT_TRUE(game.attackers[kSecond].violated);
}

// 15 of 16 lists are sent as they are. The degrees of the other lists blur the estimate, which
// shows the fault all the same.
TEST(LinkGame, FindsThroughTheEstimateThatListsAreSentWithoutNoise) {
  const LinkGame game = Played(Parameters(1'000'000, 0), 3,
                               [](absl::Span<const NodeIndex>, NodeIndex, ReportNoise& noise, SeededRandom& random) {
                                 uint8_t byte = 0;
                                 (void)random.Fill(absl::MakeSpan(&byte, 1));
                                 if (byte % 16 != 0) noise.flips = BitRow(noise.flips.size());
                               });
  EXPECT_TRUE(game.attackers[kBoth].violated);
  EXPECT_TRUE(game.attackers[kEstimate].violated);
}

// A link is flipped away half as often as it should: only TPR changes.
TEST(LinkGame, FindsFlipsThatDependOnTheEntry) {
  const LinkGame game =
      Played(Parameters(1'000'000, 0), 4,
             [](absl::Span<const NodeIndex> list, NodeIndex, ReportNoise& noise, SeededRandom& random) {
               uint8_t byte = 0;
               (void)random.Fill(absl::MakeSpan(&byte, 1));
               for (const NodeIndex j : list) {
                 if (byte % 2 == 0) noise.flips.Clear(j);
               }
             });
  EXPECT_TRUE(game.attackers[kFirst].violated);
}

TEST(LinkGame, ScoresThePairAsTheAggregatorDoes) {
  constexpr uint32_t kLarger = 40;
  const PrivacyParameters parameters = *PrivacyParameters::Create(3'000'000, 300'000, kLarger);
  const GameGraph graph = MakeGameGraph(kLarger);
  SpoiltMechanism mechanism(parameters, 5, nullptr);
  int links = 0;
  for (int play = 0; play < 200; ++play) {
    std::vector<AuditedReport> reports;
    ReportSet set(parameters);
    for (NodeIndex node = 0; node < kLarger; ++node) {
      reports.push_back(*mechanism.Report(node, graph.ListOf(node, true)));
      ASSERT_TRUE(set.Add(node, {reports.back().bits, std::llround(reports.back().degree)}).ok());
    }
    const absl::StatusOr<GameScores> scores = ScoreReports(parameters, graph, reports);
    const absl::StatusOr<LinkEstimate> estimate = EstimateLinks(set, {.threads = 1});
    ASSERT_TRUE(scores.ok() && estimate.ok()) << scores.status() << estimate.status();
    EXPECT_EQ(estimate->links().HasLink(graph.i, graph.j), scores->estimate > 1e-9);
    links += scores->estimate > 1e-9;
    const double bit = parameters.bit_log_odds(), degree = parameters.epsilon_degree();
    EXPECT_LE(std::abs(scores->both), 2 * (bit + degree) + 1e-9);
    EXPECT_NEAR(scores->both, scores->first + scores->second, 1e-12);
  }
  EXPECT_GT(links, 20);
  EXPECT_LT(links, 180);
}

TEST(LinkGame, ChangesTwoListsByOneEntryEach) {
  const GameGraph graph = MakeGameGraph(24);
  for (NodeIndex node = 0; node < 24; ++node) {
    const std::vector<NodeIndex> with = graph.ListOf(node, true), without = graph.ListOf(node, false);
    EXPECT_EQ(with.size() - without.size(), node == graph.i || node == graph.j ? 1u : 0u);
    EXPECT_TRUE(std::is_sorted(with.begin(), with.end()));
    for (const NodeIndex other : with) {
      const std::vector<NodeIndex> back = graph.ListOf(other, true);
      EXPECT_NE(std::find(back.begin(), back.end(), node), back.end()) << "both lists have a link";
    }
  }
}

TEST(LinkGameRefuses, OptionsOutOfRange) {
  const auto refused = [](uint32_t n, uint64_t plays, int threads) {
    const PrivacyParameters parameters = *PrivacyParameters::Create(1'000'000, 0, n);
    return PlayLinkGame({.parameters = parameters, .plays = plays, .threads = threads}, ShippedMechanism(parameters))
               .status()
               .code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(7, 1000, 1));
  EXPECT_TRUE(refused(1025, 1000, 1));
  EXPECT_TRUE(refused(8, 999, 1));
  EXPECT_TRUE(refused(8, 1'000'000'001, 1));
  EXPECT_TRUE(refused(8, 1000, 0));
}

TEST(LinkGameRefuses, AMechanismThatFails) {
  class Failing final : public AuditedMechanism {
    absl::StatusOr<AuditedReport> Report(NodeIndex, absl::Span<const NodeIndex>) override {
      return absl::UnavailableError("no noise");
    }
  };
  const absl::StatusOr<LinkGame> game = PlayLinkGame({.parameters = Parameters(1'000'000, 0), .plays = 1000},
                                                     [](int) { return std::make_unique<Failing>(); });
  EXPECT_EQ(game.status().code(), absl::StatusCode::kUnavailable);
}

TEST(LinkGame, KnowsNothingWhenItIsStoppedBeforeItsFirstPlay) {
  const std::atomic<bool> stop = true;
  const PrivacyParameters parameters = Parameters(1'000'000, 0);
  const absl::StatusOr<LinkGame> game =
      PlayLinkGame({.parameters = parameters, .plays = 1000, .stop = &stop}, ShippedMechanism(parameters));
  ASSERT_TRUE(game.ok()) << game.status();
  EXPECT_TRUE(game->partial());
  EXPECT_EQ(game->plays_of_world, 0u);
  EXPECT_TRUE(game->attackers.empty());
}

}  // namespace
}  // namespace blink
