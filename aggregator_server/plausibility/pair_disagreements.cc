#include "aggregator_server/plausibility/pair_disagreements.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "aggregator_server/estimate/received_rows.h"
#include "common/base/run_on_threads.h"

namespace blink {
namespace {

constexpr uint32_t kTileColumns = 512;  // a cache line of every row
constexpr uint32_t kTileWords = kTileColumns / 64;

// tile[c][w]: the bits that the nodes 64 w .. 64 w + 63 sent about node first + c; 0 from a node without report.
void TransposeTile(const ReportSet& reports, uint32_t first_word, std::vector<uint64_t>& tile) {
  const uint32_t words = reports.words_per_row(), n = reports.node_count();
  uint64_t block[kTileWords][64];
  for (uint32_t w = 0; w < words; ++w) {
    for (uint32_t r = 0; r < 64; ++r) {
      const NodeIndex node = w * 64 + r;
      for (uint32_t c = 0; c < kTileWords; ++c) {
        block[c][r] = node < n && first_word + c < words ? reports.row(node)[first_word + c] : 0;
      }
    }
    for (uint32_t c = 0; c < kTileWords; ++c) {
      Transpose64(block[c]);
      for (uint32_t r = 0; r < 64; ++r) tile[static_cast<size_t>(c * 64 + r) * words + w] = block[c][r];
    }
  }
}

PairDisagreements CountInGaps(const ReportSet& reports, const BitRow& witnesses, int threads) {
  const uint32_t n = reports.node_count();
  PairDisagreements result{std::vector<uint32_t>(n, 0), std::vector<uint32_t>(n, 0)};
  const auto visit = [&](const PairRow& row) {
    for (const ReceivedOne& one : row.ones) {
      if (one.both() || !witnesses.Test(one.j)) continue;
      ++(one.from_i ? result.unconfirmed : result.omitted)[row.i];
    }
  };
  ForEachPairRow(reports, PairSpan::kAll, ThreadsFor(threads, TileCount(n)), visit, nullptr,
                 [&](NodeIndex i) { return reports.reported(i); });
  return result;
}

}  // namespace

PairDisagreements CountDisagreements(const ReportSet& reports, const BitRow& witnesses, int threads) {
  if (reports.storage() == RowStorage::kGaps) return CountInGaps(reports, witnesses, threads);
  const uint32_t n = reports.node_count(), words = reports.words_per_row();
  PairDisagreements result{std::vector<uint32_t>(n, 0), std::vector<uint32_t>(n, 0)};
  if (words == 0) return result;
  const uint32_t tiles = (n + kTileColumns - 1) / kTileColumns;
  const absl::Span<const uint64_t> witness = witnesses.words();
  std::atomic<uint32_t> next{0};
  const auto work = [&](int) {
    std::vector<uint64_t> tile(static_cast<size_t>(kTileColumns) * words);
    for (uint32_t t; (t = next.fetch_add(1)) < tiles;) {
      TransposeTile(reports, t * kTileWords, tile);
      const NodeIndex first = t * kTileColumns, end = std::min(first + kTileColumns, n);
      for (NodeIndex i = first; i < end; ++i) {
        if (!reports.reported(i)) continue;
        const absl::Span<const uint64_t> row = reports.row(i);
        const uint64_t* column = &tile[static_cast<size_t>(i - first) * words];
        uint32_t unconfirmed = 0, omitted = 0;
        for (uint32_t w = 0; w < words; ++w) {
          unconfirmed += std::popcount(row[w] & ~column[w] & witness[w]);
          omitted += std::popcount(column[w] & ~row[w] & witness[w]);
        }
        result.unconfirmed[i] = unconfirmed;
        result.omitted[i] = omitted;
      }
    }
  };
  RunOnThreads(std::min<int>(ThreadsOrCores(threads), static_cast<int>(tiles)), work);
  return result;
}

}  // namespace blink
