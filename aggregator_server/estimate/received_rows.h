// What was received about the pairs of each node, row by row: the reports joined with their transpose, a tile at a
// time. Estimates need not know how the reports are stored.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_RECEIVED_ROWS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_RECEIVED_ROWS_H_

#include <bit>
#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/reports/report_set.h"
#include "common/privacy/bit_row.h"

namespace blink {

enum class PairSpan {
  kLater,  // pairs (i, j) with j > i: every pair once
  kAll     // all j != i: every pair from both ends
};

// A pair (i, j) about which a one was received: from i, from j, or from both.
struct ReceivedOne {
  NodeIndex j = 0;
  bool from_i = false, from_j = false;
  bool both() const { return from_i && from_j; }
};

// Row i, of the pairs that `span` asks for.
struct PairRow {
  int thread = 0;     // 0 .. threads - 1, of the caller of the visitor
  uint32_t tile = 0;  // i / kTileRows: rows of a tile are visited in order, by one thread
  NodeIndex i = 0;

  // Of packed reports [words], words = ceil(n / 64): bit j of `any` says that a one was received about the pair (i, j),
  // of `both` that two were.
  const uint64_t* any = nullptr;
  const uint64_t* both = nullptr;
  uint32_t first_word = 0, words = 0;  // before first_word there is none
  // Of reports as gaps, where `any` is null: the pairs with a one, ascending.
  absl::Span<const ReceivedOne> ones;

  // Calls visit(j, both) for the pairs with a one, ascending.
  template <typename Visit>
  void ForEachOne(const Visit& visit) const {
    for (const ReceivedOne& one : ones) visit(one.j, one.both());
    for (uint32_t w = first_word; w < words; ++w) {
      for (uint64_t bits = any[w]; bits != 0; bits &= bits - 1) {
        const int bit = std::countr_zero(bits);
        visit(w * 64 + static_cast<uint32_t>(bit), ((both[w] >> bit) & 1) != 0);
      }
    }
  }
  uint32_t CountOnes() const {
    auto count = static_cast<uint32_t>(ones.size());
    for (uint32_t w = first_word; w < words; ++w) count += std::popcount(any[w]);
    return count;
  }
};

inline constexpr uint32_t kTileRows = 512;  // a cache line of every report
inline uint32_t TileCount(uint32_t nodes) { return (nodes + kTileRows - 1) / kTileRows; }

// The threads that `threads` stands for (0: all cores), no more than there are tiles.
int ThreadsFor(int threads, uint32_t tiles);

// Calls visit(row) for every node, on `threads` threads at once (as ThreadsFor gave them); a round without bits (s = 1)
// has rows of zeros. `progress` is called by the calling thread only. `wanted`: the rows that are visited; none: all.
// The reports are complete. Memory of a thread: 64 n bytes, or of reports as gaps 16 bytes a one of a row. Time: n / 64
// words a row, or its ones and those of its column.
void ForEachPairRow(const ReportSet& reports, PairSpan span, int threads,
                    const std::function<void(const PairRow& row)>& visit,
                    const std::function<void(double fraction)>& progress = nullptr,
                    const std::function<bool(NodeIndex i)>& wanted = nullptr);

// What was received about the pair (i, j), i != j.
Evidence EvidenceOf(const ReportSet& reports, NodeIndex i, NodeIndex j);

// Transposes a block of 64 x 64 bits in place: bit c of word r becomes bit r of word c.
void Transpose64(uint64_t block[64]);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_RECEIVED_ROWS_H_
