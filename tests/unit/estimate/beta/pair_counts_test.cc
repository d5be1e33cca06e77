// Counts, masks and cuts over pairs of classes against loops over pairs of nodes, with few classes and with thousands.
#include "aggregator_server/estimate/beta/pair_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/beta/beta_prior.h"
#include "aggregator_server/estimate/beta/pair_masks.h"
#include "aggregator_server/estimate/beta/pair_scan.h"
#include "aggregator_server/estimate/beta/value_cut.h"
#include "aggregator_server/estimate/degrees.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

struct Case {
  uint32_t n;
  uint64_t epsilon_micro;
  uint32_t share_ppm;
  double silent;
};

// A round with its posterior.
struct Prepared {
  explicit Prepared(const Case& c)
      : round(MakeRound(c.n, c.epsilon_micro, c.share_ppm, c.silent, 21)),
        classes(ClassifyDegrees(EstimateDegrees(round.reports).degrees)),
        model(FitBetaModel(classes).value()),
        prior(classes, model),
        posterior(prior, round.reports.parameters().bit_log_odds()) {}
  uint32_t n() const { return round.reports.node_count(); }
  uint32_t ClassOf(NodeIndex i) const { return classes.class_of_node[i]; }
  double LogOdds(NodeIndex i, NodeIndex j) const {
    return posterior.LogOdds(ClassOf(i), ClassOf(j), EvidenceOf(round.reports, i, j));
  }

  Round round;
  DegreeClasses classes;
  BetaModel model;
  BetaPrior prior;
  Posterior posterior;
};

class PairsOfClasses : public testing::TestWithParam<Case> {};

using Counts = std::map<std::tuple<uint32_t, uint32_t, int>, uint64_t>;
Counts CountSlowly(const Prepared& p) {
  Counts counts;
  for (NodeIndex i = 0; i < p.n(); ++i) {
    for (NodeIndex j = i + 1; j < p.n(); ++j) {
      const Evidence evidence = EvidenceOf(p.round.reports, i, j);
      if (evidence.ones == 0) continue;
      ++counts[{p.ClassOf(i), p.ClassOf(j), evidence.reports == 1 ? 0 : evidence.ones}];
    }
  }
  return counts;
}

TEST_P(PairsOfClasses, AreCountedOnceHoweverSmallTheBlocks) {
  const Prepared p(GetParam());
  const Counts expected = CountSlowly(p);
  for (const uint64_t table_bytes : {uint64_t{0}, uint64_t{1}, uint64_t{24} * p.classes.degree.size() * 7}) {
    if (table_bytes == 1 && p.classes.degree.size() > 50) continue;  // a pass for each class
    PairCounts counts(p.round.reports, p.posterior, 3, table_bytes);
    for (int again = 0; again < 2; ++again) {
      std::mutex mutex;
      Counts found;
      std::multiset<uint32_t> visited;
      counts.ForEachClass([&](uint32_t a, absl::Span<const uint64_t> with_ones) {
        const std::lock_guard<std::mutex> lock(mutex);
        visited.insert(a);
        for (uint32_t k = 0; k < with_ones.size(); ++k) {
          if (with_ones[k] > 0) found[{a, k / 3, static_cast<int>(k % 3)}] = with_ones[k];
        }
      });
      EXPECT_TRUE(found == expected) << table_bytes;
      EXPECT_EQ(visited.size(), p.classes.degree.size());
      EXPECT_EQ(std::set<uint32_t>(visited.begin(), visited.end()).size(), visited.size());
    }
  }
}

TEST_P(PairsOfClasses, HaveTheSumsAndLinksOfTheLoopOverPairsWhateverTheBlocksAndThreads) {
  const Prepared p(GetParam());
  double sum = 0, error = 0;
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex i = 0; i < p.n(); ++i) {
    for (NodeIndex j = i + 1; j < p.n(); ++j) {
      const double x = p.LogOdds(i, j), probability = 1 / (1 + std::exp(-x));
      sum += probability;
      error += p.round.truth.HasLink(i, j) ? 1 / (1 + std::exp(x)) : probability;
      if (x > kTie) links.emplace_back(i, j);
    }
  }
  double first_sum = -1, first_error = -1;
  for (const uint64_t table_bytes : {uint64_t{0}, uint64_t{24} * p.classes.degree.size() * 50}) {
    for (const int threads : {1, 3}) {
      PairCounts counts(p.round.reports, p.posterior, threads, table_bytes);
      const PairScan scan = ScanPairs(p.round.reports, counts, &p.round.truth, nullptr);
      EXPECT_TRUE(scan.links == links);
      EXPECT_NEAR(scan.expected_links, sum, 1e-11 * sum);
      EXPECT_NEAR(scan.error, error, 1e-10 * error);
      if (first_sum < 0) std::tie(first_sum, first_error) = std::pair(scan.expected_links, scan.error);
      EXPECT_EQ(scan.expected_links, first_sum);
      EXPECT_EQ(scan.error, first_error);
    }
  }
}

TEST_P(PairsOfClasses, AreCutWhereTheSortedPairsAre) {
  const Prepared p(GetParam());
  std::vector<double> sorted;
  for (NodeIndex i = 0; i < p.n(); ++i) {
    for (NodeIndex j = i + 1; j < p.n(); ++j) sorted.push_back(p.LogOdds(i, j));
  }
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  PairCounts counts(p.round.reports, p.posterior, 2);
  for (const size_t wanted : {size_t{1}, size_t{2}, sorted.size() / 1000 + 1, sorted.size() / 20 + 1, sorted.size() / 2,
                              sorted.size() - 1, sorted.size()}) {
    for (const size_t values_max : {size_t{1} << 20, size_t{1}}) {  // the latter divides down to single values
      const ValueCut cut = FindValueCut(counts, wanted, nullptr, values_max);
      const double value = sorted[wanted - 1];
      const auto equal = std::equal_range(sorted.begin(), sorted.end(), value, std::greater<>());
      EXPECT_EQ(cut.log_odds, value) << wanted;
      EXPECT_EQ(cut.pairs, static_cast<uint64_t>(equal.second - equal.first)) << wanted;
      EXPECT_EQ(cut.taken, wanted - static_cast<size_t>(equal.first - sorted.begin())) << wanted;
    }
  }
}

TEST_P(PairsOfClasses, AreSelectedByMasksAsByTheirPosterior) {
  const Prepared p(GetParam());
  const double infinity = std::numeric_limits<double>::infinity();
  const double some = p.LogOdds(p.n() / 2, p.n() / 3);
  for (const LogOddsRange range :
       {LogOddsRange{kTie, infinity}, LogOddsRange{some, infinity}, LogOddsRange{std::nextafter(some, -infinity), some},
        LogOddsRange{-infinity, infinity}, LogOddsRange{infinity, infinity}}) {
    const int threads = ThreadsFor(2, TileCount(p.n()));
    PairMasks masks(p.round.reports, p.posterior, range, threads);
    std::mutex mutex;
    uint64_t selected = 0, wrong = 0;
    ForEachPairRow(p.round.reports, PairSpan::kLater, threads, [&](const PairRow& row) {
      uint64_t of_row = 0, wrong_of_row = 0;
      masks.ForEachLater(row, [&](NodeIndex j) {
        ++of_row;
        wrong_of_row += j <= row.i || !range.Contains(p.LogOdds(row.i, j));
      });
      const std::lock_guard<std::mutex> lock(mutex);
      selected += of_row;
      wrong += wrong_of_row;
    });
    uint64_t expected = 0;
    for (NodeIndex i = 0; i < p.n(); ++i) {
      for (NodeIndex j = i + 1; j < p.n(); ++j) expected += range.Contains(p.LogOdds(i, j));
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(selected, expected);
  }
}

// Few classes, silent nodes, no bits, and degrees that drown in noise: more kinds of rows than masks are kept of.
INSTANTIATE_TEST_SUITE_P(Rounds, PairsOfClasses,
                         testing::Values(Case{3, 2'000'000, 100'000, 0}, Case{130, 2'000'000, 100'000, 0.3},
                                         Case{600, 6'000'000, 100'000, 0.1}, Case{200, 2'000'000, 1'000'000, 0.2},
                                         Case{2200, 4'000'000, 500, 0.1}, Case{600, 1'000'000, 2000, 0}));

TEST(PairsOfClasses, OfTheseRoundsAreMoreThanMasksAreKeptOf) {
  const Prepared p({2200, 4'000'000, 500, 0.1});
  EXPECT_GT(p.classes.degree.size(), kTileRows);
}

TEST(PairCounts, TellItsProgressFromTheCallersThread) {
  const Prepared p({1100, 1'000'000, 1000, 0});
  PairCounts counts(p.round.reports, p.posterior, 1, uint64_t{24} * p.classes.degree.size() * 100);
  std::vector<double> told;
  counts.ForEachClass([](uint32_t, absl::Span<const uint64_t>) {}, [&](double fraction) { told.push_back(fraction); });
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_DOUBLE_EQ(told.back(), 1);
  EXPECT_GE(told.size(), p.classes.degree.size() / 100 * TileCount(1100));
}

}  // namespace
}  // namespace blink
