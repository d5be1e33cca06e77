#include "aggregator_server/estimate/received_rows.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "common/base/run_on_threads.h"

namespace blink {
namespace {

constexpr uint32_t kTileWords = kTileRows / 64;

// Deals the tiles to the threads.
class Joiner {
 public:
  Joiner(const ReportSet& reports, PairSpan span, const std::function<void(const PairRow&)>& visit,
         const std::function<bool(NodeIndex)>& wanted)
      : reports_(reports),
        span_(span),
        visit_(visit),
        wanted_(wanted),
        n_(reports.node_count()),
        words_((n_ + 63) / 64),
        tiles_(TileCount(n_)) {}

  void Run(int threads, const std::function<void(double)>& progress) {
    const bool gaps = reports_.storage() == RowStorage::kGaps;
    RunOnThreads(threads, [&](int thread) {
      const std::function<void(double)> tell = thread == 0 ? progress : nullptr;
      gaps ? WorkOnGaps(thread, tell) : WorkOnPacked(thread, tell);
    });
  }

 private:
  void WorkOnPacked(int thread, const std::function<void(double)>& progress) {
    const bool bits = reports_.parameters().sends_bits();
    std::vector<uint64_t> tile(bits ? static_cast<size_t>(kTileRows) * words_ : 0), any(words_, 0), both(words_, 0);
    ForEachTile(progress, [&](uint32_t t, NodeIndex first, NodeIndex end) {
      if (bits && AnyWanted(first, end)) TransposeTile(t, tile);
      std::fill(any.begin(), any.end(), 0);  // what a tile far before this one left
      std::fill(both.begin(), both.end(), 0);
      for (NodeIndex i = first; i < end; ++i) {
        if (wanted_ && !wanted_(i)) continue;
        if (bits) JoinRow(i, &tile[static_cast<size_t>(i - first) * words_], any, both);
        visit_({.thread = thread,
                .tile = t,
                .i = i,
                .any = any.data(),
                .both = both.data(),
                .first_word = FirstWord(i),
                .words = words_});
      }
    });
  }

  void WorkOnGaps(int thread, const std::function<void(double)>& progress) {
    const GapRows &rows = reports_.gap_rows(), &columns = reports_.gap_columns();
    std::vector<NodeIndex> sent, received;
    std::vector<ReceivedOne> ones;
    ForEachTile(progress, [&](uint32_t t, NodeIndex first, NodeIndex end) {
      for (NodeIndex i = first; i < end; ++i) {
        if (wanted_ && !wanted_(i)) continue;
        const NodeIndex from = span_ == PairSpan::kLater ? i + 1 : 0;
        sent.clear();
        received.clear();
        reports_.ForEachOne(
            i, [&](NodeIndex j) { sent.push_back(j); }, from);
        columns.ForEachOne(i, from, n_, [&](NodeIndex j) { received.push_back(j); });
        if (reports_.has_dropped()) std::erase_if(received, [&](NodeIndex j) { return !reports_.reported(j); });
        Merge(i, sent, received, ones);
        visit_({.thread = thread, .tile = t, .i = i, .ones = ones});
      }
      rows.Rest(first, end);
      columns.Rest(first, end);
    });
  }

  // Both ascending. A report says nothing about its own node.
  static void Merge(NodeIndex i, const std::vector<NodeIndex>& sent, const std::vector<NodeIndex>& received,
                    std::vector<ReceivedOne>& ones) {
    ones.clear();
    auto r = received.begin();
    const auto add_received = [&](NodeIndex before) {
      for (; r != received.end() && *r < before; ++r) {
        if (*r != i) ones.push_back({*r, false, true});
      }
    };
    for (const NodeIndex j : sent) {
      add_received(j);
      const bool both = r != received.end() && *r == j;
      if (both) ++r;
      if (j != i) ones.push_back({j, true, both});
    }
    add_received(~NodeIndex{0});
  }

  template <typename Tile>
  void ForEachTile(const std::function<void(double)>& progress, const Tile& tile) {
    for (uint32_t t; (t = next_tile_.fetch_add(1)) < tiles_;) {
      const NodeIndex first = t * kTileRows, end = std::min(first + kTileRows, n_);
      tile(t, first, end);
      const uint32_t done = done_tiles_.fetch_add(1) + 1;
      if (progress) progress(static_cast<double>(done) / tiles_);
    }
  }

  bool AnyWanted(NodeIndex first, NodeIndex end) const {
    if (!wanted_) return true;
    for (NodeIndex i = first; i < end; ++i) {
      if (wanted_(i)) return true;
    }
    return false;
  }

  uint32_t FirstWord(NodeIndex i) const { return span_ == PairSpan::kLater ? i / 64 : 0; }

  // tile[c][w]: the bits that the nodes 64 w .. 64 w + 63 sent about node first + c.
  void TransposeTile(uint32_t t, std::vector<uint64_t>& tile) const {
    uint64_t block[kTileWords][64];
    const uint32_t first_word = t * kTileWords;
    for (uint32_t w = FirstWord(t * kTileRows); w < words_; ++w) {
      for (uint32_t r = 0; r < 64; ++r) {
        const NodeIndex node = w * 64 + r;
        const bool sent = node < n_ && reports_.has_evidence(node);
        const absl::Span<const uint64_t> row = sent ? reports_.row(node) : absl::Span<const uint64_t>();
        for (uint32_t c = 0; c < kTileWords; ++c)
          block[c][r] = sent && first_word + c < words_ ? row[first_word + c] : 0;
      }
      for (uint32_t c = 0; c < kTileWords; ++c) {
        Transpose64(block[c]);
        for (uint32_t r = 0; r < 64; ++r) tile[static_cast<size_t>(c * 64 + r) * words_ + w] = block[c][r];
      }
    }
  }

  void JoinRow(NodeIndex i, const uint64_t* column, std::vector<uint64_t>& any, std::vector<uint64_t>& both) const {
    const absl::Span<const uint64_t> row = reports_.row(i);  // zeros where it did not report
    const uint32_t own = i / 64;
    // The rows of this tile before this one may have begun some words earlier.
    for (uint32_t w = own / kTileWords * kTileWords; span_ == PairSpan::kLater && w < own; ++w) any[w] = both[w] = 0;
    for (uint32_t w = FirstWord(i); w < words_; ++w) {
      any[w] = row[w] | column[w];
      both[w] = row[w] & column[w];
    }
    uint64_t wanted = ~(uint64_t{1} << (i & 63));
    if (span_ == PairSpan::kLater) wanted &= ~uint64_t{0} << (i & 63);
    any[own] &= wanted;
    both[own] &= wanted;
  }

  const ReportSet& reports_;
  const PairSpan span_;
  const std::function<void(const PairRow&)>& visit_;
  const std::function<bool(NodeIndex)>& wanted_;
  const uint32_t n_, words_, tiles_;
  std::atomic<uint32_t> next_tile_{0}, done_tiles_{0};
};

}  // namespace

int ThreadsFor(int threads, uint32_t tiles) {
  return std::max(1, std::min<int>(ThreadsOrCores(threads), static_cast<int>(tiles)));
}

void ForEachPairRow(const ReportSet& reports, PairSpan span, int threads,
                    const std::function<void(const PairRow& row)>& visit,
                    const std::function<void(double fraction)>& progress,
                    const std::function<bool(NodeIndex)>& wanted) {
  Joiner(reports, span, visit, wanted).Run(threads, progress);
}

Evidence EvidenceOf(const ReportSet& reports, NodeIndex i, NodeIndex j) {
  Evidence evidence;
  if (!reports.parameters().sends_bits()) return evidence;
  for (const auto& [from, about] : {std::pair(i, j), std::pair(j, i)}) {
    if (!reports.has_evidence(from)) continue;
    ++evidence.reports;
    evidence.ones += reports.HasOne(from, about) ? 1 : 0;
  }
  return evidence;
}

void Transpose64(uint64_t block[64]) {
  // Swaps the off-diagonal quarters of ever smaller squares.
  uint64_t mask = 0x00000000FFFFFFFFu;
  for (int width = 32; width != 0; width >>= 1, mask ^= mask << width) {
    for (int r = 0; r < 64; r = ((r | width) + 1) & ~width) {
      const uint64_t swap = ((block[r] >> width) ^ block[r | width]) & mask;
      block[r] ^= swap << width;
      block[r | width] ^= swap;
    }
  }
}

}  // namespace blink
