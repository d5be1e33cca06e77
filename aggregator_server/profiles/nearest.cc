#include "aggregator_server/profiles/nearest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "aggregator_server/profiles/pair_tiles.h"
#include "aggregator_server/profiles/sparse_rows.h"
#include "aggregator_server/profiles/tile_kernels.h"
#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"

namespace blink {
namespace {

// Rows that are compared: sparse, or dense.
struct ComparedRows {
  uint32_t count = 0;
  SparseRows sparse;
  const float* dense = nullptr;  // [count, width]
  size_t width = 0;
};

// The largest so far of every node. A node's own are changed by one thread at a time (pair_tiles.h).
class Largest {
 public:
  Largest(uint32_t nodes, uint32_t count)
      : count_(count), least_(nodes, Entry{0, 0}), entries_(size_t{nodes} * count) {}

  // What a cosine must exceed, or equal for a smaller node, to be kept.
  float bar(uint32_t node) const { return least_[node].cosine; }

  void Offer(uint32_t node, uint32_t other, float cosine) {
    const Entry entry{cosine, other};
    if (!(cosine > 0) || !Before(entry, least_[node])) return;
    Entry* const begin = &entries_[size_t{node} * count_];
    // A heap whose first is the last in the order; before it is full its gaps, of cosine 0, come first.
    std::pop_heap(begin, begin + count_, Before);
    begin[count_ - 1] = entry;
    std::push_heap(begin, begin + count_, Before);
    least_[node] = begin[0];
  }

  Nearest Take() {
    Nearest nearest{.node_count = static_cast<uint32_t>(least_.size()), .count = count_};
    for (size_t node = 0; node < least_.size(); ++node) {
      std::sort(entries_.begin() + node * count_, entries_.begin() + (node + 1) * count_, Before);
    }
    for (const Entry& entry : entries_) {
      nearest.nodes.push_back(entry.node);
      nearest.cosines.push_back(entry.cosine);
    }
    return nearest;
  }

 private:
  struct Entry {
    float cosine = 0;
    uint32_t node = 0;
  };
  static bool Before(const Entry& a, const Entry& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.cosine > 0 && a.node < b.node;
  }
  const uint32_t count_;
  std::vector<Entry> least_;    // [nodes] of those kept
  std::vector<Entry> entries_;  // [nodes, count]
};

// The cosines of the pairs of a tile; one for each thread.
class CosineTile {
 public:
  explicit CosineTile(const ComparedRows& rows)
      : count_(rows.count), dense_{.source = rows.dense, .width = rows.width} {
    out_.Resize(size_t{kStripRows} * kTileNodes);
    if (rows.dense == nullptr) sparse_.emplace(rows.sparse);
  }

  void Load(const Tile& tile) {
    first_row_ = tile.first_row();
    if (sparse_) sparse_->Load(tile.b);
    dense_.Load(tile, count_);
  }

  // [kStripRows, kTileNodes] of the rows `first` .. of the tile's first block.
  const float* Strip(uint32_t first) {
    if (sparse_) {
      const uint32_t count = std::min(kStripRows, count_ - first);
      for (uint32_t r = 0; r < count; ++r) sparse_->Row(first + r, out_.data() + r * kTileNodes);
    } else {
      MultiplyStrip(dense_, dense_, first - first_row_, out_.data());
    }
    return out_.data();
  }

 private:
  const uint32_t count_;
  uint32_t first_row_ = 0;
  std::optional<SparseProduct> sparse_;
  TileOperand dense_;
  AlignedFloats out_;
};

void OfferTile(CosineTile& cosines, const Tile& tile, uint32_t nodes, Largest& largest) {
  cosines.Load(tile);
  const uint32_t rows_end = std::min(nodes, tile.first_row() + kTileNodes);
  const uint32_t columns_end = std::min(nodes, tile.first_column() + kTileNodes);
  for (uint32_t first = tile.first_row(); first < rows_end; first += kStripRows) {
    const float* strip = cosines.Strip(first);
    for (uint32_t i = first; i < std::min(rows_end, first + kStripRows); ++i) {
      const float* row = strip + size_t{i - first} * kTileNodes;
      for (uint32_t j = std::max(tile.first_column(), tile.a == tile.b ? i + 1 : 0); j < columns_end; ++j) {
        const float cosine = row[j - tile.first_column()];
        if (cosine >= largest.bar(i)) largest.Offer(i, j, cosine);
        if (cosine >= largest.bar(j)) largest.Offer(j, i, cosine);
      }
    }
  }
}

Nearest NearestOf(const ComparedRows& rows, uint32_t count, int threads, const std::function<void(double)>& progress) {
  if (rows.dense == nullptr && rows.sparse.empty()) return {};
  Largest largest(rows.count, count);
  std::vector<CosineTile> tiles;
  tiles.reserve(threads);
  for (int thread = 0; thread < threads; ++thread) tiles.emplace_back(rows);
  ForEachTile(
      rows.count, threads, [&](const Tile& tile, int thread) { OfferTile(tiles[thread], tile, rows.count, largest); },
      progress);
  return largest.Take();
}

}  // namespace

NearestNodes FindNearest(const NodeProfiles& profiles, uint32_t count, int threads,
                         const std::function<void(double)>& progress) {
  const FeatureMatrix& scaled = profiles.scaled;
  count = std::min(count, scaled.rows > 0 ? scaled.rows - 1 : 0);
  if (count == 0 || scaled.cols == 0) return {};
  threads = ThreadsOrCores(threads);
  ComparedRows by_scaled{.count = scaled.rows}, by_latent{.count = scaled.rows};
  if (scaled.sparse) {
    by_scaled.sparse = SparseRows(scaled);
  } else {
    by_scaled.dense = scaled.values.data();
    by_scaled.width = scaled.cols;
  }
  if (profiles.latent_width > 0) {
    by_latent.dense = profiles.latent.data();
    by_latent.width = profiles.latent_width;
  }
  ProgressParts parts(progress, 2);
  NearestNodes nearest;
  nearest.scaled = NearestOf(by_scaled, count, threads, parts.Next(1));
  nearest.latent = NearestOf(by_latent, count, threads, parts.Next(1));
  return nearest;
}

std::vector<float> SumsOfNearest(const Nearest& nearest, uint32_t count, const std::vector<float>& x, uint32_t width) {
  std::vector<float> sums(size_t{nearest.node_count} * width, 0.0f);
  for (size_t node = 0; node < nearest.node_count; ++node) {
    float* out = &sums[node * width];
    for (size_t k = node * nearest.count; k < node * nearest.count + std::min(count, nearest.count); ++k) {
      const float* row = &x[size_t{nearest.nodes[k]} * width];
      for (uint32_t c = 0; c < width; ++c) out[c] += nearest.cosines[k] * row[c];
    }
  }
  return sums;
}

}  // namespace blink
