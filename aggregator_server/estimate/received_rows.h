// What was received about the pairs of each node, row by row: the reports joined with their transpose, a tile at a
// time.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_RECEIVED_ROWS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_RECEIVED_ROWS_H_

#include <cstdint>
#include <functional>

#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/reports/report_set.h"
#include "common/privacy/bit_row.h"

namespace blink {

enum class PairSpan {
  kLater,  // pairs (i, j) with j > i: every pair once
  kAll     // all j != i: every pair from both ends
};

// Row i: bit j of `any` says that a one was received about the pair (i, j), of `both` that two were. [words] each,
// words = ceil(n / 64); bits of other pairs than `span` asks for are zero.
struct PairRow {
  int thread = 0;     // 0 .. threads - 1, of the caller of the visitor
  uint32_t tile = 0;  // i / kTileRows: rows of a tile are visited in order, by one thread
  NodeIndex i = 0;
  const uint64_t* any = nullptr;
  const uint64_t* both = nullptr;
};

inline constexpr uint32_t kTileRows = 512;  // a cache line of every report
inline uint32_t TileCount(uint32_t nodes) { return (nodes + kTileRows - 1) / kTileRows; }

// The threads that `threads` stands for (0: all cores), no more than there are tiles.
int ThreadsFor(int threads, uint32_t tiles);

// Calls visit(row) for every node, on `threads` threads at once (as ThreadsFor gave them); a round without bits (s = 1)
// has rows of zeros. `progress` is called by the calling thread only. `wanted`: the rows that are visited; none: all.
// Memory: 64 n bytes a thread.
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
