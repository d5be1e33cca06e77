#include "aggregator_server/profiles/pair_tiles.h"

#include <algorithm>
#include <atomic>

#include "common/base/run_on_threads.h"

namespace blink {

void TileOperand::Load(const Tile& tile, uint32_t nodes) {
  if (width == 0) return;
  const uint32_t count = std::min(kTileNodes, nodes - tile.first_row());
  columns.PackTransposed(source + tile.first_column() * width, std::min(kTileNodes, nodes - tile.first_column()), width,
                         kTileNodes);
  rows = source + tile.first_row() * width;
  if (count == kTileNodes) return;
  padded.Resize(kTileNodes * width);
  padded.Fill(0);
  std::copy_n(rows, count * width, padded.data());
  rows = padded.data();
}

void MultiplyStrip(const TileOperand& left, const TileOperand& right, uint32_t first, float* out) {
  MultiplyPanels(left.rows + first * left.width, left.width, kStripRows, right.columns, /*add=*/false, out, kTileNodes);
}

std::vector<std::vector<Tile>> TournamentOf(uint32_t blocks) {
  std::vector<std::vector<Tile>> rounds(1);
  for (uint32_t a = 0; a < blocks; ++a) rounds[0].push_back({a, a});
  // The circle method: all but the last player stand on a circle that turns by one each round; with an odd number the
  // last one is nobody.
  const uint32_t circle = (blocks + blocks % 2) - 1;
  for (uint32_t round = 0; blocks > 1 && round < circle; ++round) {
    std::vector<Tile> tiles;
    if (circle < blocks) tiles.push_back({round, circle});
    for (uint32_t k = 1; k <= circle / 2; ++k) {
      const uint32_t x = (round + k) % circle, y = (round + circle - k) % circle;
      tiles.push_back({std::min(x, y), std::max(x, y)});
    }
    rounds.push_back(std::move(tiles));
  }
  return rounds;
}

void ForEachTile(uint32_t nodes, int threads, absl::FunctionRef<void(const Tile&, int)> visit,
                 const std::function<void(double)>& progress) {
  const auto rounds = TournamentOf(BlockCount(nodes));
  for (size_t round = 0; round < rounds.size(); ++round) {
    const std::vector<Tile>& tiles = rounds[round];
    std::atomic<size_t> next{0};
    RunOnThreads(std::min<int>(threads, static_cast<int>(tiles.size())), [&](int thread) {
      for (size_t k; (k = next.fetch_add(1)) < tiles.size();) visit(tiles[k], thread);
    });
    if (progress) progress(static_cast<double>(round + 1) / static_cast<double>(rounds.size()));
  }
}

}  // namespace blink
