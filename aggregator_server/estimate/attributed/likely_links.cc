#include "aggregator_server/estimate/attributed/likely_links.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "aggregator_server/estimate/hybrid_cut.h"

namespace blink {
namespace {

using Progress = std::function<void(double)>;

// Floats in their order as integers.
int64_t OrderOf(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  return bits >= 0 ? bits : -static_cast<int64_t>(bits & 0x7fffffff);
}

struct Passes {
  const PairInputs& inputs;
  const std::vector<PriorRound>& rounds;
  const size_t round;
  const int threads;
  const Progress& progress;

  // The pairs of which wanted(log_odds, i, j), always in the same order.
  template <typename Wanted>
  std::vector<LikelyPair> Collect(const Wanted& wanted) const {
    std::vector<std::vector<LikelyPair>> of_block(BlockCount(inputs.n));
    ForEachLogOddsRow(
        inputs, rounds, round, threads,
        [&](const LogOddsRow& row) {
          for (uint32_t k = row.begin; k < row.end; ++k) {
            if (wanted(row.log_odds[k], row.i, row.first + k)) {
              of_block[row.block].push_back({row.i, row.first + k, row.log_odds[k]});
            }
          }
        },
        progress);
    std::vector<LikelyPair> all;
    for (const auto& part : of_block) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  // How many pairs have each value between `low` and `high`, by its distance from `low` in floats.
  std::vector<uint64_t> CountValues(float low, float high) const {
    const int64_t first = OrderOf(low), count = OrderOf(high) - first + 1;
    std::vector<std::vector<uint64_t>> of_thread(threads, std::vector<uint64_t>(static_cast<size_t>(count), 0));
    ForEachLogOddsRow(
        inputs, rounds, round, threads,
        [&](const LogOddsRow& row) {
          for (uint32_t k = row.begin; k < row.end; ++k) {
            const float x = row.log_odds[k];
            if (x >= low && x <= high) ++of_thread[row.thread][static_cast<size_t>(OrderOf(x) - first)];
          }
        },
        progress);
    for (int t = 1; t < threads; ++t) {
      for (size_t k = 0; k < of_thread[0].size(); ++k) of_thread[0][k] += of_thread[t][k];
    }
    return of_thread[0];
  }
};

float FloatOfOrder(int64_t order) {
  return order >= 0 ? std::bit_cast<float>(static_cast<int32_t>(order))
                    : -std::bit_cast<float>(static_cast<int32_t>(-order));
}

}  // namespace

std::vector<LikelyPair> LargestOf(std::vector<LikelyPair> pairs, uint64_t wanted, uint64_t tie_seed) {
  if (wanted >= pairs.size()) return pairs;
  if (wanted == 0) return {};
  const auto larger = [](const LikelyPair& x, const LikelyPair& y) { return x.log_odds > y.log_odds; };
  std::nth_element(pairs.begin(), pairs.begin() + static_cast<int64_t>(wanted - 1), pairs.end(), larger);
  const float cut = pairs[wanted - 1].log_odds;
  const auto tied = std::partition(pairs.begin(), pairs.end(), [&](const LikelyPair& x) { return x.log_odds > cut; });
  const auto end = std::partition(tied, pairs.end(), [&](const LikelyPair& x) { return x.log_odds == cut; });
  const auto hash = [&](const LikelyPair& x) { return std::make_tuple(TieHash(tie_seed, x.i, x.j), x.i, x.j); };
  const int64_t taken = static_cast<int64_t>(wanted) - (tied - pairs.begin());
  if (taken < end - tied) {
    std::nth_element(tied, tied + taken, end,
                     [&](const LikelyPair& x, const LikelyPair& y) { return hash(x) < hash(y); });
  }
  pairs.resize(wanted);
  return pairs;
}

std::vector<LikelyPair> LargestPairs(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round,
                                     const PosteriorSums& sums, uint64_t wanted, uint64_t tie_seed, int threads,
                                     const Progress& progress) {
  if (wanted <= sums.likely.size()) return LargestOf(sums.likely, wanted, tie_seed);
  const Passes passes{inputs, rounds, round, threads, progress};
  // The bin of the cut. More than `wanted` pairs have a P that counts, so it is not the first.
  int32_t bin = kLogOddsBins;
  uint64_t found = 0;
  while (bin > 0 && found < wanted) found += sums.bins[--bin];
  const float low = static_cast<float>(bin) / kBinsPerUnit - kBinReach;
  const float high = low + 1.0f / kBinsPerUnit;
  constexpr uint64_t kRoom = uint64_t{1} << 20;
  if (found <= 2 * wanted + kRoom) {
    return LargestOf(passes.Collect([&](float x, NodeIndex, NodeIndex) { return x >= low; }), wanted, tie_seed);
  }
  // Many in the bin: the value at the cut, by counting each, and then its pairs by the limit on the hash.
  const std::vector<uint64_t> counts = passes.CountValues(low, high);
  uint64_t above = found - sums.bins[bin];  // whatever is rounded to `high` is counted in the bin above, too
  auto place = static_cast<int64_t>(counts.size()) - 1;
  const int64_t first = OrderOf(low);
  above -= counts[static_cast<size_t>(place)];  // of the value `high` itself
  while (place > 0 && above + counts[static_cast<size_t>(place)] < wanted)
    above += counts[static_cast<size_t>(place--)];
  const float cut = FloatOfOrder(first + place);
  const uint64_t tied = counts[static_cast<size_t>(place)], taken = wanted - above;
  for (double margin = 10 * std::sqrt(static_cast<double>(taken)) + 100;; margin *= 4) {
    const double share = (static_cast<double>(taken) + margin) / static_cast<double>(tied);
    const bool all = !(share < 1);
    const uint64_t hash_max = all ? ~uint64_t{0} : static_cast<uint64_t>(std::ldexp(share, 64));
    std::vector<LikelyPair> pairs = passes.Collect([&](float x, NodeIndex i, NodeIndex j) {
      return x > cut || (x == cut && TieHash(tie_seed, i, j) <= hash_max);
    });
    if (pairs.size() >= wanted || all) return LargestOf(std::move(pairs), wanted, tie_seed);
  }
}

}  // namespace blink
