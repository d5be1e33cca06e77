// Whatever is made of reports is the same, bit for bit, of packed rows and of gaps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/estimate/attributed/column_sums.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/estimate/degrees.h"
#include "aggregator_server/estimate/received_rows.h"
#include "aggregator_server/plausibility/pair_disagreements.h"
#include "aggregator_server/plausibility/plausibility.h"
#include "common/privacy/privatizer.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/estimate/attributed/small_inputs.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

// The same reports, stored as gaps.
ReportSet AsGaps(const ReportSet& packed) {
  ReportSet gaps(packed.parameters(), RowStorage::kGaps);
  packed.reported_nodes().ForEachOne([&](NodeIndex i) {
    PrivateReport report{.noisy_degree = packed.noisy_degree(i)};
    if (packed.parameters().sends_bits()) {
      report.bits = BitRow(packed.node_count());
      packed.FillRow(i, 0, report.bits.mutable_words());
    }
    EXPECT_TRUE(gaps.Add(i, std::move(report)).ok());
  });
  EXPECT_TRUE(gaps.Complete(2).ok());
  return gaps;
}

void ExpectSame(const LinkWeights& of_gaps, const LinkWeights& of_packed) {
  ASSERT_EQ(of_gaps.node_count, of_packed.node_count);
  EXPECT_EQ(of_gaps.weighted, of_packed.weighted);
  std::vector<float> a(of_gaps.node_count), b(of_gaps.node_count);
  for (NodeIndex i = 0; i < of_gaps.node_count; ++i) {
    FillRow(of_gaps, i, a.data());
    FillRow(of_packed, i, b.data());
    ASSERT_EQ(a, b) << i;
  }
}

void ExpectSame(const LinkPosterior& of_gaps, const LinkPosterior& of_packed) {
  ExpectSame(of_gaps.hard, of_packed.hard);
  ASSERT_TRUE(of_gaps.soft && of_packed.soft && of_gaps.hybrid && of_packed.hybrid);
  ExpectSame(*of_gaps.soft, *of_packed.soft);
  ExpectSame(*of_gaps.hybrid, *of_packed.hybrid);
  EXPECT_EQ(of_gaps.expected_links, of_packed.expected_links);
  EXPECT_EQ(of_gaps.mae, of_packed.mae);
  EXPECT_EQ(of_gaps.true_positives, of_packed.true_positives);
  ASSERT_TRUE(of_gaps.quality && of_packed.quality);
  EXPECT_EQ(of_gaps.quality->log_likelihood, of_packed.quality->log_likelihood);
  EXPECT_EQ(of_gaps.quality->auc, of_packed.quality->auc);
}

// n, epsilon, share for the degree, share of silent nodes, and of reports that are dropped.
class Storage : public testing::TestWithParam<std::tuple<uint32_t, double, uint32_t, double, bool>> {
 protected:
  void SetUp() override {
    const auto [n, epsilon, share_ppm, silent, drops] = GetParam();
    round_.emplace(MakeRound(n, static_cast<uint64_t>(std::llround(epsilon * 1e6)), share_ppm, silent, 17));
    gaps_.emplace(AsGaps(round_->reports));
    for (NodeIndex i = 3; drops && i < n; i += 11) {
      round_->reports.Drop(i);
      gaps_->Drop(i);
    }
  }
  const ReportSet& packed() const { return round_->reports; }
  const ReportSet& gaps() const { return *gaps_; }
  uint32_t n() const { return packed().node_count(); }

  std::optional<Round> round_;
  std::optional<ReportSet> gaps_;
};

TEST_P(Storage, ShowsTheSameRows) {
  ASSERT_EQ(gaps().storage(), RowStorage::kGaps);
  ASSERT_EQ(packed().storage(), RowStorage::kPacked);
  const uint32_t words = packed().words_per_row();
  for (NodeIndex i = 0; i < n(); ++i) {
    EXPECT_EQ(gaps().reported(i), packed().reported(i));
    EXPECT_EQ(gaps().noisy_degree(i), packed().noisy_degree(i));
    EXPECT_EQ(gaps().CountOnes(i), packed().CountOnes(i));
    EXPECT_EQ(gaps().CountOnesAmong(i, gaps().reported_nodes()), packed().CountOnesAmong(i, packed().reported_nodes()));
    for (NodeIndex j = 0; j < n(); ++j) ASSERT_EQ(gaps().HasOne(i, j), packed().HasOne(i, j)) << i << ' ' << j;
    for (const uint32_t from : {0u, 1u, words - 1, words}) {
      std::vector<uint64_t> a(3, ~uint64_t{0}), b(3, 1);
      gaps().FillRow(i, from, absl::MakeSpan(a));
      packed().FillRow(i, from, absl::MakeSpan(b));
      ASSERT_EQ(a, b) << i << ' ' << from;
    }
    for (const NodeIndex from : {NodeIndex{0}, i, i / 2 + 1}) {
      std::vector<NodeIndex> a, b;
      gaps().ForEachOne(
          i, [&](NodeIndex j) { a.push_back(j); }, from);
      packed().ForEachOne(
          i, [&](NodeIndex j) { b.push_back(j); }, from);
      ASSERT_EQ(a, b) << i << ' ' << from;
    }
  }
}

TEST_P(Storage, JoinsTheSamePairs) {
  using Seen = std::vector<std::tuple<NodeIndex, NodeIndex, bool>>;
  for (const PairSpan span : {PairSpan::kLater, PairSpan::kAll}) {
    const auto pairs_of = [&](const ReportSet& reports, int threads) {
      std::vector<Seen> of_row(n());
      ForEachPairRow(reports, span, ThreadsFor(threads, TileCount(n())), [&](const PairRow& row) {
        row.ForEachOne([&](NodeIndex j, bool both) { of_row[row.i].emplace_back(row.i, j, both); });
        EXPECT_EQ(row.CountOnes(), of_row[row.i].size());
      });
      return of_row;
    };
    EXPECT_EQ(pairs_of(gaps(), 3), pairs_of(packed(), 1));
  }
  for (NodeIndex i = 0; i < n(); i += 3) {
    for (NodeIndex j = 0; j < n(); j += 2) {
      if (i == j) continue;
      ASSERT_EQ(EvidenceOf(gaps(), i, j).Index(), EvidenceOf(packed(), i, j).Index());
    }
  }
}

TEST_P(Storage, GivesTheSameDegrees) {
  EXPECT_EQ(EstimateDegrees(gaps()).degrees, EstimateDegrees(packed()).degrees);
  EXPECT_EQ(ColumnSums(gaps(), 2), ColumnSums(packed(), 1));
  const DegreePosterior a = EstimateDegreePosterior(gaps(), 2), b = EstimateDegreePosterior(packed(), 1);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.deviation, b.deviation);
  EXPECT_EQ(a.influence, b.influence);
}

TEST_P(Storage, GivesTheSamePlausibility) {
  const PairDisagreements a = CountDisagreements(gaps(), gaps().reported_nodes(), 3);
  const PairDisagreements b = CountDisagreements(packed(), packed().reported_nodes(), 1);
  EXPECT_EQ(a.unconfirmed, b.unconfirmed);
  EXPECT_EQ(a.omitted, b.omitted);
  const auto of_gaps = TestPlausibility(gaps(), {}, 2), of_packed = TestPlausibility(packed(), {}, 2);
  ASSERT_TRUE(of_gaps.ok() && of_packed.ok());
  ASSERT_EQ(of_gaps->flagged.size(), of_packed->flagged.size());
  for (size_t k = 0; k < of_gaps->flagged.size(); ++k) EXPECT_EQ(of_gaps->flagged[k].node, of_packed->flagged[k].node);
  EXPECT_EQ(of_gaps->note, of_packed->note);
}

TEST_P(Storage, GivesTheSameLinksAndWeights) {
  if (packed().report_count() == 0) GTEST_SKIP() << "nobody reports";
  const auto estimate = [&](const ReportSet& reports, int threads) {
    return EstimateLinks(reports,
                         {.soft = true, .hybrid = true, .tie_seed = 5, .threads = threads, .truth = &round_->truth});
  };
  const auto of_gaps = estimate(gaps(), 3), of_packed = estimate(packed(), 1);
  ASSERT_TRUE(of_gaps.ok() && of_packed.ok()) << of_gaps.status() << of_packed.status();
  ExpectSame(*of_gaps, *of_packed);
}

TEST_P(Storage, GivesTheSameUnderTheAttributedPrior) {
  if (packed().report_count() == 0) GTEST_SKIP() << "nobody reports";
  const NodeProfiles profiles = MakeProfiles(n(), ProfileForm::kSparse, 3);
  const ClassProbabilities classes = MakeClasses(n(), 4, 5);
  const auto estimate = [&](const ReportSet& reports) {
    return EstimateAttributed(reports, profiles, classes,
                              {.soft = true, .hybrid = true, .threads = 2, .truth = &round_->truth});
  };
  const auto of_gaps = estimate(gaps()), of_packed = estimate(packed());
  ASSERT_TRUE(of_gaps.ok() && of_packed.ok()) << of_gaps.status() << of_packed.status();
  ExpectSame(*of_gaps, *of_packed);
  EXPECT_EQ(of_gaps->attributed_fit->class_sums, of_packed->attributed_fit->class_sums);
}

// From ones that are rare to ones in a third of the places; with hubs that are links without a single one.
INSTANTIATE_TEST_SUITE_P(
    Rounds, Storage,
    testing::Values(std::tuple(700u, 8.0, 100'000u, 0.0, false), std::tuple(700u, 6.0, 100'000u, 0.2, true),
                    std::tuple(520u, 3.0, 300'000u, 0.0, true), std::tuple(200u, 1.0, 100'000u, 0.3, false),
                    std::tuple(130u, 0.5, 0u, 0.1, true), std::tuple(65u, 4.0, 900'000u, 0.0, false),
                    std::tuple(70u, 5.0, 500'000u, 0.5, true)));

TEST(Storage, OfAnIncompleteSetIsRefusedByEveryEstimate) {
  const PrivacyParameters parameters = *PrivacyParameters::Create(8'000'000, 100'000, 50);
  ReportSet reports(parameters, RowStorage::kGaps);
  for (NodeIndex i = 0; i < 50; ++i) ASSERT_TRUE(reports.Add(i, {.bits = BitRow(50), .noisy_degree = 2}).ok());
  const absl::Status refused[] = {EstimateLinks(reports, {}).status(),
                                  EstimateAttributed(reports, {}, MakeClasses(50, 3, 1), {}).status()};
  for (const absl::Status& status : refused) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("ReportSet::Complete"));
  }
}

TEST(Storage, GivesTheSameOfMirroredReportsWithSilentAndDroppedNodes) {
  for (const auto& [n, epsilon_micro] : {std::pair(300u, 6'000'000u), std::pair(131u, 1'000'000u)}) {
    const CsrGraph truth = MakeRound(n, epsilon_micro, 100'000, 0, 3).truth;
    const PrivacyParameters parameters = *PrivacyParameters::Create(epsilon_micro, 100'000, n, Mechanism::kOneEnd);
    ReportSet gaps(parameters, RowStorage::kGaps), packed(parameters, RowStorage::kPacked);
    SeededRandom random(n);
    for (NodeIndex i = 0; i < n; ++i) {
      if (i % 7 == 2) continue;
      const PrivateReport report = *ApplyNoise(parameters, i, *DrawNoise(parameters, i, random), truth.NeighboursOf(i));
      ASSERT_TRUE(gaps.Add(i, report).ok());
      ASSERT_TRUE(packed.Add(i, report).ok());
    }
    for (ReportSet* reports : {&gaps, &packed}) {
      ASSERT_TRUE(reports->Complete().ok());
      for (NodeIndex i = 5; i < n; i += 20) reports->Drop(i);
      ASSERT_TRUE(reports->Mirror(2).ok());
    }
    for (NodeIndex i = 0; i < n; ++i) {
      for (NodeIndex j = 0; j < n; ++j) ASSERT_EQ(gaps.HasOne(i, j), packed.HasOne(i, j)) << i << ' ' << j;
      ASSERT_EQ(gaps.noisy_degree(i), packed.noisy_degree(i));
    }
    EXPECT_EQ(EstimateDegreePosterior(gaps, 1).mean, EstimateDegreePosterior(packed, 1).mean);
    const EstimateOptions options{.soft = true, .hybrid = true, .tie_seed = 5, .threads = 2, .truth = &truth};
    const auto of_gaps = EstimateLinks(gaps, options), of_packed = EstimateLinks(packed, options);
    ASSERT_TRUE(of_gaps.ok() && of_packed.ok()) << of_gaps.status() << of_packed.status();
    ExpectSame(*of_gaps, *of_packed);
  }
}

}  // namespace
}  // namespace blink
