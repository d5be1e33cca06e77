#include "tools/audit/counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace blink {
namespace {

// More rows than the planes hold, and a number that leaves them half full.
TEST(LaneCounter, CountsLikeItsSlowTwin) {
  constexpr size_t kWords = 3;
  std::mt19937_64 random(1);
  LaneCounter counter(kWords);
  std::vector<uint64_t> slow(64 * kWords);
  for (int row = 0; row < 1000; ++row) {
    const std::vector<uint64_t> words = {random(), random() & random() & random(), ~uint64_t{0}};
    counter.Add(words);
    for (size_t lane = 0; lane < slow.size(); ++lane) slow[lane] += words[lane / 64] >> (lane % 64) & 1;
    if (row == 400) {
      EXPECT_EQ(counter.Counts(), slow);  // asking does not disturb
    }
  }
  EXPECT_EQ(counter.Counts(), slow);
}

constexpr uint32_t kNodes = 150;  // two words and a bit

AuditedList ListOf(std::vector<NodeIndex> neighbours) {
  AuditedList list;
  list.row = BitRow(kNodes);
  for (const NodeIndex j : neighbours) list.row.Set(j);
  list.neighbours = std::move(neighbours);
  list.degree_origin = 2;
  return list;
}

BitRow RandomBitsBut(NodeIndex self, std::mt19937_64& random) {
  BitRow bits(kNodes);
  for (uint64_t& word : bits.mutable_words()) word = random() & random();
  bits.ClearTail();
  bits.Clear(self);
  return bits;
}

TEST(ReportCounter, CountsLikeItsSlowTwin) {
  const AuditedList list = ListOf({3, 64, 149});
  const DegreeCells cells{.width = 1, .half = 5};
  constexpr NodeIndex kSelf = 17, kTarget = 70;
  ReportCounter counter(list, kSelf, kTarget, true, true, cells, 2);
  std::mt19937_64 random(2);
  std::vector<uint64_t> flips(kNodes), adjacent(kNodes), lanes(kNodes), large(kNodes), totals(kNodes);
  std::array<std::vector<uint64_t>, 2> successive = {std::vector<uint64_t>(kNodes), std::vector<uint64_t>(kNodes)};
  std::array<DistantPairs, kReportDistanceMax + 1> distant;
  uint64_t positive = 0, odd = 0;
  std::vector<std::vector<bool>> rows;
  std::vector<int> noises;
  for (int r = 0; r < 701; ++r) {
    const BitRow bits = RandomBitsBut(kSelf, random);
    noises.push_back(static_cast<int>(random() % 9) - 4);
    counter.Add(bits, list.degree() + noises[r]);
    rows.emplace_back(kNodes);
    for (uint32_t j = 0; j < kNodes; ++j) rows[r][j] = bits.Test(j) != list.row.Test(j);
    for (uint32_t j = 0; j < kNodes; ++j) {
      flips[j] += rows[r][j];
      if (j + 1 < kNodes) adjacent[j] += rows[r][j] && rows[r][j + 1];
      if (j + 64 < kNodes) lanes[j] += rows[r][j] && rows[r][j + 64];
      if (r > 0) successive[(r - 1) % 2][j] += rows[r][j] && rows[r - 1][j];
      if (std::abs(noises[r]) > 2) large[j] += rows[r][j];
    }
    ++totals[std::count(rows[r].begin(), rows[r].end(), true)];
    positive += noises[r] > 0;
    odd += noises[r] % 2 != 0;
    for (int d = 1; d <= std::min<int>(r, kReportDistanceMax); ++d) {
      const int half = (r - d) / d % 2;
      ++distant[d].pairs[half];
      distant[d].equal_noise[half] += noises[r] == noises[r - d];
      for (uint32_t j = 0; j < kNodes; ++j) distant[d].flips[half] += rows[r][j] && rows[r - d][j];
    }
  }
  const ListCounts counts = counter.Finish();
  EXPECT_EQ(counts.reports, 701u);
  EXPECT_EQ(counts.malformed, 0u);
  EXPECT_EQ(counts.non_integer_degrees, 0u);
  EXPECT_EQ(counts.flips, flips);
  EXPECT_EQ(counts.adjacent, adjacent);
  EXPECT_EQ(counts.lanes, lanes);
  EXPECT_EQ(counts.successive, successive);
  EXPECT_EQ(counts.flip_totals, totals);
  for (size_t d = 1; d <= kReportDistanceMax; ++d) {
    EXPECT_EQ(counts.distant[d].pairs, distant[d].pairs) << d;
    EXPECT_EQ(counts.distant[d].flips, distant[d].flips) << d;
    EXPECT_EQ(counts.distant[d].equal_noise, distant[d].equal_noise) << d;
  }
  EXPECT_EQ(counts.class_reports[kNoiseOdd], odd);
  EXPECT_EQ(counts.class_reports[kNoisePositive], positive);
  EXPECT_EQ(counts.class_flips[kNoiseLarge], large);
}

TEST(ReportCounter, ComparesNeighbouringListsInTheSameCells) {
  const AuditedList list = ListOf({3, 64, 149});  // degree 3, origin 2
  const DegreeCells cells{.width = 1, .half = 5};
  ReportCounter counter(list, 17, 70, true, true, cells, 2);
  BitRow bits(kNodes);
  bits.Set(70);
  counter.Add(bits, 6);
  EXPECT_EQ(counter.Finish().degree_cells[1][cells.Of(4)], 1u);
}

TEST(ReportCounter, NoticesADegreeWithAFraction) {
  const AuditedList list = ListOf({3});
  ReportCounter counter(list, 17, 70, true, true, DegreeCells{}, 2);
  for (const double degree : {1.0, 1.5, std::nan(""), -3.0, 1 + 1e-15}) counter.Add(BitRow(kNodes), degree);
  EXPECT_EQ(counter.Finish().non_integer_degrees, 3u);
}

TEST(ReportCounter, NoticesMalformedReports) {
  const AuditedList list = ListOf({3});
  ReportCounter counter(list, 17, 70, true, true, DegreeCells{}, 2);
  BitRow of_self(kNodes), past_the_end(kNodes);
  of_self.Set(17);
  past_the_end.mutable_words()[2] = ~uint64_t{0};
  for (const BitRow& bits : {of_self, past_the_end, BitRow(kNodes - 1), BitRow()}) counter.Add(bits, 1);
  EXPECT_EQ(counter.Finish().malformed, 4u);
}

TEST(AllPairs, AreCountedLikeTheirSlowTwin) {
  constexpr size_t kWords = 2;
  constexpr uint32_t kBits = 100;
  std::mt19937_64 random(3);
  std::vector<uint64_t> rows;
  for (int r = 0; r < 50; ++r) {
    rows.push_back(random());
    rows.push_back(random() & ((uint64_t{1} << (kBits - 64)) - 1));
  }
  std::vector<uint32_t> counts(64 * kWords * 64 * kWords), cross = counts;
  CountAllPairs(rows, kWords, counts);
  rows.insert(rows.end(), rows.begin(), rows.begin() + kWords);  // a row without a partner
  EXPECT_EQ(CountCrossPairs(rows, kWords, cross), 25u);
  const auto bit = [&](size_t r, uint32_t j) { return rows[r * kWords + j / 64] >> (j % 64) & 1; };
  for (uint32_t i = 0; i < kBits; ++i) {
    for (uint32_t j = i + 1; j < kBits; ++j) {
      uint32_t together = 0;
      for (size_t r = 0; r < 50; ++r) together += bit(r, i) & bit(r, j);
      ASSERT_EQ(counts[i * 64 * kWords + j], together) << i << " " << j;
    }
    for (uint32_t j = 0; j < kBits; ++j) {
      uint32_t in_a_row = 0;
      for (size_t r = 0; r < 50; r += 2) in_a_row += bit(r, i) & bit(r + 1, j);
      ASSERT_EQ(cross[i * 64 * kWords + j], in_a_row) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace blink
