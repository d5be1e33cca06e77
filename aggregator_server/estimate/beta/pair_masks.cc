#include "aggregator_server/estimate/beta/pair_masks.h"

#include <algorithm>

namespace blink {

// Where the masks of one (reported, ones) stand: at the last kind of rows that was looked at.
struct PairMasks::Sweep {
  std::vector<uint8_t> flags;  // [2 K] which kinds of other nodes are in
  std::vector<uint64_t> mask;  // [n / 64] their nodes
  uint32_t kinds_in = 0;
  uint32_t place = 0;
};

PairMasks::PairMasks(const ReportSet& reports, const Posterior& posterior, LogOddsRange range, int threads)
    : reports_(reports),
      posterior_(posterior),
      range_(range),
      words_((reports.node_count() + 63) / 64),
      kinds_(reports, posterior.prior()),
      of_thread_(threads) {
  std::vector<uint32_t> kinds;
  for (uint32_t kind = 0; kind < kinds_.count(); ++kind) {
    if (!kinds_.NodesOf(kind).empty()) kinds.push_back(kind);
  }
  if (kinds.size() <= kTileRows) Make(kinds, common_);
}

const PairMasks::Masks& PairMasks::OfTile(const PairRow& row) {
  Masks& masks = of_thread_[row.thread];
  if (masks.tile == row.tile) return masks;
  masks.tile = row.tile;
  const NodeIndex first = row.tile * kTileRows, end = std::min(first + kTileRows, reports_.node_count());
  const absl::Span<const uint32_t> of_tile = kinds_.of_node().subspan(first, end - first);
  std::vector<uint32_t> kinds(of_tile.begin(), of_tile.end());
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  Make(kinds, masks);
  return masks;
}

void PairMasks::Make(const std::vector<uint32_t>& kinds, Masks& masks) const {
  const size_t all_kinds = kinds_.count();
  masks.words.assign(words_, 0);
  masks.place.assign(3 * all_kinds, 0);
  Sweep sweeps[2][3];
  for (auto& of_row : sweeps) {
    for (Sweep& sweep : of_row) {
      sweep.flags.assign(all_kinds, 0);
      sweep.mask.assign(words_, 0);
    }
  }
  std::vector<double> prior(posterior_.prior().class_count());
  std::vector<uint8_t> flags(all_kinds);
  for (const uint32_t kind : kinds) {
    posterior_.prior().FillLogOdds(kind / 2, prior.data());
    const int reported = static_cast<int>(kind % 2);
    for (int ones = 0; ones <= reported + 1; ++ones) {
      Sweep& sweep = sweeps[reported][ones];
      FillFlags(prior.data(), reported, ones, flags);
      TurnOver(flags, sweep, masks);
      masks.place[3 * static_cast<size_t>(kind) + ones] = sweep.place;
    }
  }
}

// flags[2 b + r] = whether a pair with a node of class b that sent r reports is in the range, this end having sent
// `reports`, when `ones` ones were received about it.
void PairMasks::FillFlags(const double* prior, int reports, int ones, std::vector<uint8_t>& flags) const {
  for (int other = 0; other < 2; ++other) {
    const Evidence evidence{reports + other, ones};
    const bool possible = ones <= evidence.reports;
    for (size_t b = 0; 2 * b < flags.size(); ++b) {
      flags[2 * b + other] = possible && range_.Contains(posterior_.With(prior[b], evidence));
    }
  }
}

void PairMasks::TurnOver(const std::vector<uint8_t>& flags, Sweep& sweep, Masks& masks) const {
  if (flags == sweep.flags) return;
  for (size_t kind = 0; kind < flags.size(); ++kind) {
    if (flags[kind] == sweep.flags[kind]) continue;
    sweep.kinds_in += flags[kind] != 0 ? 1 : -1;
    for (const NodeIndex node : kinds_.NodesOf(kind)) sweep.mask[node >> 6] ^= uint64_t{1} << (node & 63);
  }
  sweep.flags = flags;
  sweep.place = 0;  // the empty mask
  if (sweep.kinds_in == 0) return;
  sweep.place = static_cast<uint32_t>(masks.words.size() / words_);
  masks.words.insert(masks.words.end(), sweep.mask.begin(), sweep.mask.end());
}

}  // namespace blink
