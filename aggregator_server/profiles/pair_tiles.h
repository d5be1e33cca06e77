// Visits every unordered pair of nodes once, in tiles of kTileNodes x kTileNodes. Sums over the pairs of each node do
// not depend on the threads.
//
// The tiles are visited as the games of a tournament, in rounds in which no block of nodes has two tiles. So the
// visitor of a tile may add to what belongs to the nodes of its two blocks without locks, and always in the same order.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_PAIR_TILES_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_PAIR_TILES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "aggregator_server/profiles/tile_kernels.h"

namespace blink {

// The pairs (i, j), i of block a and j of block b > a; of a == b those with i < j.
struct Tile {
  uint32_t a = 0, b = 0;
  uint32_t first_row() const { return a * kTileNodes; }
  uint32_t first_column() const { return b * kTileNodes; }
};

// A dense matrix of the nodes, as the rows of block a and the columns of block b of a tile want it.
struct TileOperand {
  const float* source = nullptr;  // [n, width]
  size_t width = 0;               // 0: there is none
  const float* rows = nullptr;    // [kTileNodes, width], zeros past the last node
  AlignedFloats padded;
  Panels columns;
  void Load(const Tile& tile, uint32_t nodes);
};

// out [kStripRows, kTileNodes]: the products of the rows first .. of `left`, counted within block a, with the columns
// of `right`.
void MultiplyStrip(const TileOperand& left, const TileOperand& right, uint32_t first, float* out);

inline uint32_t BlockCount(uint32_t nodes) { return (nodes + kTileNodes - 1) / kTileNodes; }

// The rounds, in order: first the diagonal, then all pairs of different blocks.
std::vector<std::vector<Tile>> TournamentOf(uint32_t blocks);

// Calls visit(tile, thread) for every tile, 0 <= thread < threads. `progress` (may be empty) is called between rounds,
// by the calling thread.
void ForEachTile(uint32_t nodes, int threads, absl::FunctionRef<void(const Tile& tile, int thread)> visit,
                 const std::function<void(double fraction)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_PAIR_TILES_H_
