// The pairs whose posterior lies in a range, of packed reports: as bit masks over the nodes. Those of a row are found
// 64 at a time.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_MASKS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_MASKS_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "aggregator_server/estimate/beta/node_kinds.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/estimate/received_rows.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// Log-odds x with above < x <= up_to.
struct LogOddsRange {
  double above, up_to;
  bool Contains(double x) const { return x > above && x <= up_to; }
};

// A row's masks depend on its kind alone: its class, and whether it reported. Kinds are taken by ascending class, and a
// mask is made from the one before by turning over the nodes of the classes in which they differ: with the beta-model
// these are next to none, since what a class has in the range is an interval that moves with it.
//
// Memory: up to 512 kinds of rows are kept for all threads; of more, those of the tile that a thread is at
// (received_rows.h). Either way at most 3 masks of n bits for each of 512 kinds: 192 n bytes, and a thread of many
// classes has its own. Time: for each kind 6 K comparisons and 3 n / 64 words.
class PairMasks {
 public:
  // `threads` as for ForEachPairRow, whose rows are asked for.
  PairMasks(const ReportSet& reports, const Posterior& posterior, LogOddsRange range, int threads);

  // Calls visit(j) for every pair of the row (PairSpan::kLater) that is in the range, ascending. Each thread has rows
  // of its own.
  template <typename Visit>
  void ForEachLater(const PairRow& row, const Visit& visit) {
    const Masks& masks = common_.empty() ? OfTile(row) : common_;
    const uint64_t* by_ones[3];
    for (int ones = 0; ones < 3; ++ones) by_ones[ones] = masks.Of(kinds_.Of(row.i), ones, words_);
    uint64_t later = ~uint64_t{1} << (row.i & 63);
    for (uint32_t w = row.i / 64; w < words_; ++w, later = ~uint64_t{0}) {
      const uint64_t any = row.any[w], both = row.both[w];
      uint64_t bits = (by_ones[0][w] & ~any) | (by_ones[1][w] & any & ~both) | (by_ones[2][w] & both);
      for (bits &= later; bits != 0; bits &= bits - 1) visit(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }

 private:
  static constexpr uint32_t kNoTile = ~uint32_t{0};
  struct Masks {
    uint32_t tile = kNoTile;      // whose rows these are of
    std::vector<uint32_t> place;  // [2 K, 3] of a kind's masks for 0, 1, 2 ones
    std::vector<uint64_t> words;  // [masks, n / 64]; the first is empty
    bool empty() const { return words.empty(); }
    const uint64_t* Of(uint32_t kind, int ones, uint32_t words_of_mask) const {
      return &words[static_cast<size_t>(place[3 * static_cast<size_t>(kind) + ones]) * words_of_mask];
    }
  };
  struct Sweep;

  const Masks& OfTile(const PairRow& row);
  void Make(const std::vector<uint32_t>& kinds, Masks& masks) const;  // `kinds` ascending
  void FillFlags(const double* prior, int reports, int ones, std::vector<uint8_t>& flags) const;
  void TurnOver(const std::vector<uint8_t>& flags, Sweep& sweep, Masks& masks) const;

  const ReportSet& reports_;
  const Posterior& posterior_;
  const LogOddsRange range_;
  const uint32_t words_;
  const NodeKinds kinds_;
  Masks common_;  // empty: there are too many kinds
  std::vector<Masks> of_thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_MASKS_H_
