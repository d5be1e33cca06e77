// The attributed prior as a whole against its dense twin, and what it refuses.
#include "aggregator_server/estimate/attributed/attributed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "aggregator_server/estimate/attributed/posterior_pass.h"
#include "aggregator_server/estimate/hybrid_cut.h"
#include "tests/testing/instruction_sets.h"
#include "tests/unit/estimate/attributed/dense_twin.h"
#include "tests/unit/estimate/attributed/small_inputs.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

// Log-odds differ by rounding in floats and by what it does to theta.
constexpr double kNear = 2e-3;

void ExpectHard(const LinkWeights& hard, const TwinPosterior& twin) {
  const uint32_t n = hard.node_count;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = 0; j < n; ++j) {
      if (i == j || std::abs(twin.log_odds[i][j]) < kNear) continue;
      ASSERT_EQ(hard.links.HasLink(i, j), twin.log_odds[i][j] > 0) << i << ' ' << j;
    }
  }
}

// Weights of the pairs with P above `least`, which are P.
void ExpectWeights(const LinkWeights& weights, const TwinPosterior& twin, double least) {
  const double cut = std::log(least / (1 - least));
  for (NodeIndex i = 0; i < weights.node_count; ++i) {
    std::vector<float> row(weights.node_count);
    FillRow(weights, i, row.data());
    for (NodeIndex j = 0; j < weights.node_count; ++j) {
      if (i != j && std::abs(twin.log_odds[i][j] - cut) < kNear) continue;
      ASSERT_NEAR(row[j], i != j && twin.log_odds[i][j] > cut ? twin.p[i][j] : 0, kNear) << i << ' ' << j;
    }
  }
}

double CutOfHybrid(const TwinPosterior& twin, uint64_t wanted) {
  std::vector<double> all;
  for (size_t i = 0; i < twin.p.size(); ++i) all.insert(all.end(), twin.p[i].begin() + i + 1, twin.p[i].end());
  std::sort(all.rbegin(), all.rend());
  return (all[wanted - 1] + all[wanted]) / 2;
}

void ExpectFigures(const LinkPosterior& posterior, const TwinPosterior& twin, const CsrGraph& truth) {
  EXPECT_NEAR(posterior.expected_links, twin.expected, 1e-3 * twin.expected);
  double error = 0, kept = 0;
  const size_t n = twin.p.size();
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = 0; j < n; ++j) {
      if (i == j) continue;
      error += std::abs(twin.p[i][j] - truth.HasLink(i, j));
      if (twin.p[i][j] > kKeptMin) kept += twin.p[i][j] / 2;
    }
  }
  EXPECT_NEAR(posterior.mae, error / (n * n), 1e-3 * error / (n * n));
  EXPECT_NEAR(posterior.left_out_links, twin.expected - kept, 2e-3 * twin.expected);
  ASSERT_TRUE(posterior.quality.has_value());
  uint64_t positives = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    for (const NodeIndex j : truth.NeighboursOf(i)) positives += i < j && posterior.hard.links.HasLink(i, j);
  }
  EXPECT_EQ(posterior.true_positives, positives);
}

struct Case {
  uint32_t n;
  uint64_t epsilon_micro;
  uint32_t share_ppm;
  double silent;
  ProfileForm form;
  uint32_t classes;
  int rounds;
  Mechanism mechanism = Mechanism::kBothEnds;
};

void ExpectTwin(const Case& c, const Ingredients& use = {}) {
  SCOPED_TRACE(::testing::Message() << "n " << c.n << " epsilon " << c.epsilon_micro << " rounds " << c.rounds);
  const Round round = MakeRound(c.n, c.epsilon_micro, c.share_ppm, c.silent, 7, c.mechanism);
  const NodeProfiles profiles = MakeProfiles(c.n, c.form, 3);
  const ClassProbabilities classes = MakeClasses(c.n, c.classes, 4);
  const DenseTwin twin(round.reports, profiles, classes, c.rounds, use);
  const auto estimate = EstimateAttributed(
      round.reports, profiles, classes,
      {.ingredients = use, .network_rounds = c.rounds, .tie_seed = 5, .threads = 2, .truth = &round.truth});
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  EXPECT_EQ(estimate->attributed_fit->network_rounds, c.rounds);
  EXPECT_EQ(estimate->nodes_without_report, c.n - round.reports.report_count());
  ExpectHard(estimate->BestGuess().hard, twin.links);
  ExpectHard(estimate->hard, twin.training);
  ExpectFigures(estimate->BestGuess(), twin.links, round.truth);
  ExpectFigures(*estimate, twin.training, round.truth);
  ExpectWeights(*estimate->soft, twin.training, kKeptMin);
  const uint64_t wanted = HybridLinkCount(estimate->expected_links);
  EXPECT_EQ(estimate->hybrid->links.link_count(), wanted);
  ExpectWeights(*estimate->hybrid, twin.training, CutOfHybrid(twin.training, wanted));
  for (uint32_t i = 0; i < c.n; ++i) {
    for (uint32_t k = 0; k < c.classes; ++k) {
      double sum = 0;
      for (uint32_t j = 0; j < c.n; ++j) sum += twin.training.p[i][j] * classes.clamped[j * c.classes + k];
      ASSERT_NEAR(estimate->attributed_fit->class_sums[i * c.classes + k], sum, 2e-3 * (1 + sum));
    }
  }
}

class Attributed : public testing::EveryInstructionSet {};

TEST_P(Attributed, IsTheDenseTwinWithSparseFeatures) {
  ExpectTwin({70, 2'000'000, 50'000, 0, ProfileForm::kSparse, 4, 0});
  ExpectTwin({150, 1'000'000, 50'000, 0, ProfileForm::kSparse, 4, 1});
  ExpectTwin({150, 4'000'000, 20'000, 0, ProfileForm::kSparse, 4, 2});
}

TEST_P(Attributed, IsTheDenseTwinWithDenseFeatures) {
  ExpectTwin({131, 3'000'000, 20'000, 0, ProfileForm::kDense, 3, 1});
  ExpectTwin({300, 3'000'000, 20'000, 0, ProfileForm::kDense, 40, 1});  // two blocks of nodes
}

TEST_P(Attributed, IsTheDenseTwinWithMissingReports) {
  ExpectTwin({120, 3'000'000, 50'000, 0.4, ProfileForm::kSparse, 4, 1});
  ExpectTwin({280, 2'000'000, 0, 0.4, ProfileForm::kDense, 4, 1});
}

TEST_P(Attributed, IsTheDenseTwinWhereOneEndReports) {
  ExpectTwin({150, 2'000'000, 50'000, 0, ProfileForm::kSparse, 4, 1, Mechanism::kOneEnd});
  ExpectTwin({120, 3'000'000, 50'000, 0.4, ProfileForm::kSparse, 4, 1, Mechanism::kOneEnd});
  ExpectTwin({140, 3'000'000, 0, 0.2, ProfileForm::kDense, 4, 2, Mechanism::kOneEnd});
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(Attributed);

TEST(AttributedPrior, LeavesOutWhatIsNotThere) {
  ExpectTwin({90, 3'000'000, 50'000, 0, ProfileForm::kNone, 4, 1});
  ExpectTwin({90, 3'000'000, 50'000, 0, ProfileForm::kNone, 1, 1});
  ExpectTwin({90, 3'000'000, 50'000, 0, ProfileForm::kSparse, 1, 1});
}

TEST(AttributedPrior, LeavesOutAnIngredient) {
  const Case all{90, 3'000'000, 50'000, 0, ProfileForm::kSparse, 4, 1};
  ExpectTwin(all, {.degrees = false});
  ExpectTwin(all, {.degree_total = false});
  ExpectTwin(all, {.features = false});
  ExpectTwin(all, {.latent = false});
  ExpectTwin(all, {.classes = false});
  Case one = all;
  one.rounds = 0;
  ExpectTwin(one, {.network = false});
}

TEST(AttributedPrior, OfDegreesAloneIsTheBase) {  // s = 1: no bits, so theta cannot be learnt
  ExpectTwin({90, 3'000'000, 1'000'000, 0.2, ProfileForm::kSparse, 4, 0});
}

TEST(AttributedPrior, ShowsTheLogOddsOfEveryPairOnce) {
  constexpr uint32_t n = 300;  // two blocks of nodes
  const Round round = MakeRound(n, 3'000'000, 20'000, 0.1, 7);
  const NodeProfiles profiles = MakeProfiles(n, ProfileForm::kSparse, 3);
  const ClassProbabilities classes = MakeClasses(n, 3, 4);
  std::vector<float> seen(n * n);
  std::vector<int> times(n * n);
  const auto visit = [&](const LogOddsRow& row) {
    for (uint32_t k = row.begin; k < row.end; ++k) {
      seen[row.i * n + row.first + k] = row.log_odds[k];
      ++times[row.i * n + row.first + k];
    }
  };
  ASSERT_TRUE(
      EstimateAttributed(round.reports, profiles, classes, {.network_rounds = 1, .threads = 2, .visit = visit}).ok());
  const DenseTwin twin(round.reports, profiles, classes, 1, {});
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      ASSERT_EQ(times[i * n + j] + times[j * n + i], 1) << i << ' ' << j;
      ASSERT_NEAR(seen[i * n + j] + seen[j * n + i], twin.training.log_odds[i][j], kNear) << i << ' ' << j;
    }
  }
}

TEST(AttributedPrior, TakesTheRoundsOfTheNetworkFromTheBudget) {
  const NodeProfiles profiles = MakeProfiles(40, ProfileForm::kSparse, 3);
  const ClassProbabilities classes = MakeClasses(40, 3, 4);
  const auto rounds = [&](uint64_t epsilon_micro, uint32_t share_ppm, Ingredients use) {
    const Round round = MakeRound(40, epsilon_micro, share_ppm, 0, 7);
    return EstimateAttributed(round.reports, profiles, classes, {.ingredients = use, .threads = 1})
        ->attributed_fit->network_rounds;
  };
  EXPECT_EQ(rounds(1'000'000, 20'000, {}), 1);
  EXPECT_EQ(rounds(2'000'000, 20'000, {}), 1);
  EXPECT_EQ(rounds(3'000'000, 20'000, {}), 2);
  EXPECT_EQ(rounds(3'000'000, 20'000, {.network = false}), 0);
  EXPECT_EQ(rounds(3'000'000, 1'000'000, {}), 0);
}

TEST(AttributedPrior, TakesTheSmallestRounds) {
  for (const uint32_t n : {3u, 4u, 5u}) {
    for (const uint32_t share_ppm : {0u, 20'000u, 1'000'000u}) {
      for (const uint64_t epsilon_micro : {1u, 1'000'000u, 50'000'000u}) {
        const Round round = MakeRound(n, epsilon_micro, share_ppm, 0, n);
        const auto estimate = EstimateAttributed(round.reports, MakeProfiles(n, ProfileForm::kSparse, 3),
                                                 MakeClasses(n, 2, 4), {.threads = 1, .truth = &round.truth});
        ASSERT_TRUE(estimate.ok()) << estimate.status();
        EXPECT_TRUE(std::isfinite(estimate->expected_links));
        EXPECT_LE(estimate->hybrid->links.link_count(), n * (n - 1) / 2);
      }
    }
  }
}

TEST(AttributedPrior, DoesNotDependOnTheThreads) {
  const Round round = MakeRound(900, 2'000'000, 20'000, 0.1, 7);
  const NodeProfiles profiles = MakeProfiles(900, ProfileForm::kSparse, 3);
  const ClassProbabilities classes = MakeClasses(900, 5, 4);
  const auto with = [&](int threads) {
    return *EstimateAttributed(round.reports, profiles, classes,
                               {.network_rounds = 1, .threads = threads, .truth = &round.truth});
  };
  const LinkEstimate one = with(1), four = with(4);
  EXPECT_EQ(one.attributed_fit->class_sums, four.attributed_fit->class_sums);
  EXPECT_EQ(one.expected_links, four.expected_links);
  EXPECT_EQ(one.BestGuess().mae, four.BestGuess().mae);
  EXPECT_EQ(one.BestGuess().quality->log_likelihood, four.BestGuess().quality->log_likelihood);
  EXPECT_EQ(one.soft->values, four.soft->values);
  EXPECT_EQ(one.hybrid->values, four.hybrid->values);
  EXPECT_EQ(one.BestGuess().hard.links.neighbours(), four.BestGuess().hard.links.neighbours());
  ASSERT_EQ(one.attributed_fit->coefficients.size(), four.attributed_fit->coefficients.size());
  for (size_t k = 0; k < one.attributed_fit->coefficients.size(); ++k) {
    EXPECT_EQ(one.attributed_fit->coefficients[k].theta, four.attributed_fit->coefficients[k].theta)
        << one.attributed_fit->coefficients[k].feature;
  }
}

TEST(AttributedPrior, ReportsItsProgressForward) {
  const Round round = MakeRound(300, 2'000'000, 20'000, 0, 7);
  double last = 0;
  const auto estimate = EstimateAttributed(round.reports, MakeProfiles(300, ProfileForm::kDense, 3),
                                           MakeClasses(300, 3, 4), {.threads = 2, .progress = [&](double fraction) {
                                                                      EXPECT_GE(fraction, last);
                                                                      EXPECT_LE(fraction, 1.0);
                                                                      last = fraction;
                                                                    }});
  ASSERT_TRUE(estimate.ok());
  EXPECT_EQ(last, 1.0);
}

class Refusal : public ::testing::Test {
 protected:
  std::string Refused(absl::StatusCode code, AttributedOptions options = {}) const {
    const auto estimate = EstimateAttributed(round_.reports, profiles_, classes_, options);
    EXPECT_EQ(estimate.status().code(), code);
    return std::string(estimate.status().message());
  }
  Round round_ = MakeRound(30, 2'000'000, 20'000, 0, 7);
  NodeProfiles profiles_ = MakeProfiles(30, ProfileForm::kSparse, 3);
  ClassProbabilities classes_ = MakeClasses(30, 3, 4);
};

TEST_F(Refusal, OfRoundsWithoutAReport) {
  for (NodeIndex i = 0; i < 30; ++i) round_.reports.Drop(i);
  EXPECT_THAT(Refused(absl::StatusCode::kFailedPrecondition), HasSubstr("no node has reported"));
}

TEST_F(Refusal, OfProfilesOfOtherNodes) {
  profiles_ = MakeProfiles(29, ProfileForm::kSparse, 3);
  EXPECT_THAT(Refused(absl::StatusCode::kInvalidArgument), HasSubstr("profiles of 29 nodes"));
}

TEST_F(Refusal, OfLatentVectorsOfAnotherWidth) {
  profiles_.latent.pop_back();
  EXPECT_THAT(Refused(absl::StatusCode::kInvalidArgument), HasSubstr("latent values do not fit"));
}

TEST_F(Refusal, OfClassesOfOtherNodes) {
  classes_ = MakeClasses(31, 3, 4);
  EXPECT_THAT(Refused(absl::StatusCode::kInvalidArgument), HasSubstr("class probabilities of 31 nodes"));
}

TEST_F(Refusal, OfNoClass) {
  classes_ = {30, 0, {}, {}};
  EXPECT_THAT(Refused(absl::StatusCode::kInvalidArgument), HasSubstr("0 classes"));
}

TEST_F(Refusal, OfAClassProbabilityThatIsNone) {
  for (const float wrong : {-0.1f, 1.5f, NAN}) {
    ClassProbabilities classes = MakeClasses(30, 3, 4);
    classes.clamped[7] = wrong;
    EXPECT_EQ(EstimateAttributed(round_.reports, profiles_, classes, {}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(Refusal, OfATruthOfOtherNodes) {
  const CsrGraph truth = *CsrGraph::FromLinks(29, {{0, 1}});
  EXPECT_THAT(Refused(absl::StatusCode::kInvalidArgument, {.truth = &truth}), HasSubstr("29 nodes"));
}

TEST_F(Refusal, OfMoreRoundsOfTheNetworkThanTwo) {
  for (const int rounds : {-1, 3}) {
    EXPECT_THAT(Refused(absl::StatusCode::kInvalidArgument, {.network_rounds = rounds}), HasSubstr("0 .. 2"));
  }
}

}  // namespace
}  // namespace blink
