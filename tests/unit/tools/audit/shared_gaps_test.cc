#include "tools/audit/shared_gaps.h"

#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace blink {
namespace {

constexpr uint32_t kBits = 1024;
using Row = std::vector<uint64_t>;

Row RowWithGaps(const std::vector<uint32_t>& gaps) {
  Row row(kBits / 64);
  uint32_t next = 0;
  for (const uint32_t gap : gaps) {
    next += gap;
    if (next >= kBits) break;
    row[next / 64] |= uint64_t{1} << (next % 64);
    ++next;
  }
  return row;
}

SharedGaps Comparing(size_t length) { return {GapRuns{.length = length, .probability_max = 0.5}, kBits, 0.005}; }

TEST(GapRuns, AreTheShortestWhoseChanceIsSmall) {
  for (const double p : {1e-9, 0.0003, 0.0025, 0.0067, 0.0078}) {
    for (const uint32_t n : {1024u, 20'000u, 1'000'000u}) {
      const GapRuns runs = GapRuns::For(n, p);
      const auto chance = [&](size_t length) {
        return std::pow((1 + (n - 1) * p) / (1 - p), 2) * std::pow(p / (2 - p), static_cast<double>(length));
      };
      EXPECT_NEAR(runs.probability_max / chance(runs.length), 1, 1e-9);
      EXPECT_LE(runs.probability_max, 1e-3);
      if (runs.length > 1) {
        EXPECT_GT(chance(runs.length - 1), 1e-3) << n << " " << p;
      }
    }
  }
}

TEST(GapRuns, AreNotLookedAtWhereFlipsAreNotRareOrNone) {
  for (const double p : {0.0, -1.0, 1.0 / 64, 0.27, 0.5}) EXPECT_EQ(GapRuns::For(kBits, p).length, 0u) << p;
  SharedGaps none({}, kBits, 0.3);
  EXPECT_EQ(none.Add(RowWithGaps({1, 2, 3})), 0u);
  EXPECT_EQ(none.Add(RowWithGaps({1, 2, 3})), 0u);
}

TEST(SharedGaps, FindsAStreamThatBeginsSomeFlipsFurtherOn) {
  SharedGaps shared = Comparing(3);
  EXPECT_EQ(shared.Add(RowWithGaps({100, 7, 30, 200, 5, 90, 11})), 0u);
  EXPECT_EQ(shared.Add(RowWithGaps({200, 5, 90, 11, 400})), 2u);     // one report before: from its beginning on
  EXPECT_EQ(shared.Add(RowWithGaps({1, 2, 3, 30, 200, 5, 8})), 4u);  // two before, in the middle
}

TEST(SharedGaps, FindsARunInEachOfTheReportsThatItComparesAndNoneBefore) {
  for (uint32_t apart = 1; apart <= kReportDistanceMax + 3; ++apart) {
    SharedGaps shared = Comparing(2);
    EXPECT_EQ(shared.Add(RowWithGaps({500, 17, 19})), 0u);
    for (uint32_t other = 1; other < apart; ++other)
      EXPECT_EQ(shared.Add(RowWithGaps({20 * other, 20 * other + 1})), 0u);
    EXPECT_EQ(shared.Add(RowWithGaps({300, 4, 17, 19})), apart <= kReportDistanceMax ? uint32_t{1} << apart : 0u)
        << apart;
  }
}

TEST(SharedGaps, AcceptsGapsThatAreEqualOneByOneAndNotInARow) {
  SharedGaps shared = Comparing(2);
  EXPECT_EQ(shared.Add(RowWithGaps({10, 20, 30, 40})), 0u);
  EXPECT_EQ(shared.Add(RowWithGaps({20, 10, 40, 30})), 0u);
  EXPECT_EQ(shared.Add(RowWithGaps({})), 0u);
  EXPECT_EQ(shared.Add(RowWithGaps({30})), 0u);
}

TEST(SharedGaps, DoesNotCompareAReportWithItself) {
  SharedGaps shared = Comparing(2);
  EXPECT_EQ(shared.Add(RowWithGaps({50, 60, 50, 60, 50, 60})), 0u);
}

std::vector<uint32_t> GapsOf(const Row& row) {
  std::vector<uint32_t> gaps;
  uint32_t next = 0;
  for (uint32_t j = 0; j < kBits; ++j) {
    if ((row[j / 64] >> (j % 64) & 1) == 0) continue;
    gaps.push_back(j - next);
    next = j + 1;
  }
  return gaps;
}

// With as many reports as fill the table many times over. Never more than the slow twin finds, and hardly fewer.
TEST(SharedGaps, FindsWhatItsSlowTwinFindsAndNothingElse) {
  constexpr double kFlip = 0.012;
  std::mt19937_64 random(5);
  std::bernoulli_distribution flip(kFlip);
  SharedGaps shared = Comparing(2);
  std::vector<std::set<std::pair<uint32_t, uint32_t>>> runs;  // of each report
  uint64_t found = 0, there = 0;
  for (size_t r = 0; r < 3000; ++r) {
    Row row(kBits / 64);
    for (uint32_t j = 0; j < kBits; ++j) row[j / 64] |= uint64_t{flip(random)} << (j % 64);
    const uint32_t seen = shared.Add(row);
    const std::vector<uint32_t> gaps = GapsOf(row);
    runs.emplace_back();
    for (size_t g = 0; g + 1 < gaps.size(); ++g) runs[r].insert({gaps[g], gaps[g + 1]});
    for (size_t d = 1; d <= kReportDistanceMax; ++d) {
      bool is_there = false;
      for (const auto& run : runs[r]) is_there = is_there || (d <= r && runs[r - d].contains(run));
      const bool is_found = (seen >> d & 1) == 1;
      ASSERT_TRUE(is_there || !is_found) << r << " " << d;
      there += is_there;
      found += is_found;
    }
  }
  EXPECT_GT(there, 100u);
  EXPECT_GT(found, there * 9 / 10);
}

// 200,000 pairs of honest reports, one bit of which is never flipped. The mean of the count is bounded; a count of 5
// deviations more would have a probability below 1e-6.
TEST(SharedGaps, AreNoLikelierThanTheyAreSaidToBe) {
  for (const double p : {0.0067, 0.0025, 0.0003}) {
    const GapRuns runs = GapRuns::For(kBits, p);
    std::mt19937_64 random(6);
    std::geometric_distribution<uint32_t> gap(p);
    uint64_t found = 0;
    constexpr uint64_t kPairs = 200'000;
    for (uint64_t pair = 0; pair < kPairs; ++pair) {
      SharedGaps shared(runs, kBits, p);
      uint32_t seen = 0;
      for (int report = 0; report < 2; ++report) {
        std::vector<uint32_t> gaps;
        for (uint32_t next = 0; next < kBits; next += gaps.back() + 1) gaps.push_back(gap(random));
        Row row = RowWithGaps(gaps);
        row[0] &= ~(uint64_t{1} << 17);
        seen = shared.Add(row);
      }
      found += seen != 0;
    }
    const double most = kPairs * runs.probability_max;
    EXPECT_LE(static_cast<double>(found), most + 5 * std::sqrt(most) + 5) << p;
    if (most > 50) {
      EXPECT_GE(static_cast<double>(found), most / 4) << p;  // and the bound is no idle one
    }
  }
}

}  // namespace
}  // namespace blink
