#include "aggregator_server/estimate/pair_scan.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

namespace blink {
namespace {

constexpr uint32_t kTileColumns = 512;  // a cache line of every row
constexpr uint32_t kTileWords = kTileColumns / 64;

// For the nodes of one class, and for those among them that reported or did not: over all other nodes, whose pair is a
// link whatever the bits, with at least one 1, or with two.
struct LinkMasks {
  std::vector<uint64_t> always, any, both;
};

class Scanner {
 public:
  Scanner(const ReportSet& reports, const Posterior& posterior)
      : reports_(reports),
        posterior_(posterior),
        n_(reports.node_count()),
        words_((n_ + 63) / 64),
        class_count_(posterior.prior().class_count()),
        class_of_node_(posterior.prior().class_of_node()) {
    tiles_ = (n_ + kTileColumns - 1) / kTileColumns;
    tile_links_.resize(tiles_);
    BuildMasks();
  }

  void Run(int threads, const std::function<void(double)>& progress) {
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    threads = std::min<int>(threads, static_cast<int>(tiles_));
    ones_.resize(threads);
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back([this, t] { Work(t, nullptr); });
    Work(0, progress);
    for (std::thread& thread : others) thread.join();
  }

  // Sums the threads' counts (integers: the order does not matter) and joins the tiles' links in order.
  void Collect(PairScan& scan) {
    for (auto& links : tile_links_) {
      scan.links.insert(scan.links.end(), links.begin(), links.end());
      links = {};
    }
    std::vector<uint64_t>& ones = ones_[0];
    for (size_t t = 1; t < ones_.size(); ++t) {
      for (size_t k = 0; k < ones.size(); ++k) ones[k] += ones_[t][k];
    }
    for (uint32_t a = 0; a < class_count_; ++a) {
      for (uint32_t b = 0; b < class_count_; ++b) {
        uint64_t* to = &scan.counts[(static_cast<size_t>(std::min(a, b)) * class_count_ + std::max(a, b)) * kEvidences];
        const uint64_t* from = &ones[(static_cast<size_t>(a) * class_count_ + b) * 3];
        to[Evidence{1, 1}.Index()] += from[0];
        to[Evidence{2, 1}.Index()] += from[1];
        to[Evidence{2, 2}.Index()] += from[2];
      }
    }
  }

 private:
  void BuildMasks() {
    masks_.resize(2 * static_cast<size_t>(class_count_));
    std::vector<uint8_t> needed(static_cast<size_t>(class_count_) * 2);
    for (uint32_t a = 0; a < class_count_; ++a) {
      for (int reported = 0; reported < 2; ++reported) {
        LinkMasks& masks = masks_[2 * a + reported];
        for (auto* mask : {&masks.always, &masks.any, &masks.both}) mask->assign(words_, 0);
        for (uint32_t b = 0; b < class_count_; ++b) {
          for (int other = 0; other < 2; ++other) {
            needed[2 * b + other] = static_cast<uint8_t>(posterior_.OnesNeeded(a, b, reported + other));
          }
        }
        for (NodeIndex j = 0; j < n_; ++j) {
          const int ones = needed[2 * class_of_node_[j] + reports_.reported(j)];
          const uint64_t bit = uint64_t{1} << (j & 63);
          if (ones <= 0) masks.always[j >> 6] |= bit;
          if (ones <= 1) masks.any[j >> 6] |= bit;
          if (ones <= 2) masks.both[j >> 6] |= bit;
        }
      }
    }
  }

  void Work(int thread, const std::function<void(double)>& progress) {
    std::vector<uint64_t> tile(static_cast<size_t>(kTileColumns) * words_);
    ones_[thread].assign(static_cast<size_t>(class_count_) * class_count_ * 3, 0);
    for (uint32_t t; (t = next_tile_.fetch_add(1)) < tiles_;) {
      TransposeTile(t, tile);
      const NodeIndex first = t * kTileColumns, end = std::min(first + kTileColumns, n_);
      for (NodeIndex i = first; i < end; ++i)
        ScanRow(i, &tile[static_cast<size_t>(i - first) * words_], ones_[thread], tile_links_[t]);
      const uint32_t done = done_tiles_.fetch_add(1) + 1;
      if (progress) progress(static_cast<double>(done) / tiles_);
    }
  }

  // tile[c][w]: the bits that the nodes 64 w .. 64 w + 63 sent about node first + c. Only pairs (i, j > i) are needed.
  void TransposeTile(uint32_t t, std::vector<uint64_t>& tile) const {
    uint64_t block[kTileWords][64];
    const uint32_t first_word = t * kTileWords;
    for (uint32_t w = first_word; w < words_; ++w) {
      for (uint32_t r = 0; r < 64; ++r) {
        const NodeIndex node = w * 64 + r;
        const bool sent = node < n_ && reports_.reported(node);
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

  void ScanRow(NodeIndex i, const uint64_t* column, std::vector<uint64_t>& ones,
               std::vector<std::pair<NodeIndex, NodeIndex>>& links) const {
    const bool reported = reports_.reported(i);
    const uint32_t a = class_of_node_[i];
    const LinkMasks& masks = masks_[2 * a + reported];
    const absl::Span<const uint64_t> row = reports_.row(i);
    uint64_t* counts = &ones[static_cast<size_t>(a) * class_count_ * 3];
    const uint32_t first_word = i / 64;
    for (uint32_t w = first_word; w < words_; ++w) {
      const uint64_t later = w == first_word ? ~uint64_t{0} << (i & 63) & ~(uint64_t{1} << (i & 63)) : ~uint64_t{0};
      const uint64_t sent = reported ? row[w] : 0;
      const uint64_t any = (sent | column[w]) & later, both = sent & column[w] & later;
      for (uint64_t bits = (masks.always[w] | (masks.any[w] & any) | (masks.both[w] & both)) & later; bits != 0;
           bits &= bits - 1) {
        links.emplace_back(i, w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
      for (uint64_t bits = any; bits != 0; bits &= bits - 1) {
        const uint64_t bit = bits & -bits;
        const NodeIndex j = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
        const int kind = !(reported && reports_.reported(j)) ? 0 : (both & bit) != 0 ? 2 : 1;
        ++counts[class_of_node_[j] * 3 + kind];
      }
    }
  }

  const ReportSet& reports_;
  const Posterior& posterior_;
  const uint32_t n_, words_, class_count_;
  const absl::Span<const uint32_t> class_of_node_;
  uint32_t tiles_ = 0;
  std::vector<LinkMasks> masks_;                                          // [2 K]: by class and whether it reported
  std::vector<std::vector<std::pair<NodeIndex, NodeIndex>>> tile_links_;  // [tiles]
  std::vector<std::vector<uint64_t>> ones_;                               // [threads][K, K, 3]: evidence 1/1, 2/1, 2/2
  std::atomic<uint32_t> next_tile_{0}, done_tiles_{0};
};

// All pairs by class and number of reports, then less those that were counted with ones: the rest has only zeros.
void FillZeroCounts(const ReportSet& reports, const Posterior& posterior, PairScan& scan) {
  const uint32_t k = scan.class_count;
  const bool bits = reports.parameters().sends_bits();
  std::vector<uint64_t> with(k, 0), without(k, 0);
  for (NodeIndex i = 0; i < reports.node_count(); ++i) {
    ++(bits && reports.reported(i) ? with : without)[posterior.prior().class_of_node()[i]];
  }
  for (uint32_t a = 0; a < k; ++a) {
    for (uint32_t b = a; b < k; ++b) {
      uint64_t* counts = &scan.counts[(static_cast<size_t>(a) * k + b) * kEvidences];
      const bool same = a == b;
      const uint64_t none = same ? without[a] * (without[a] - (without[a] > 0)) / 2 : without[a] * without[b];
      const uint64_t one = same ? with[a] * without[a] : with[a] * without[b] + without[a] * with[b];
      const uint64_t two = same ? with[a] * (with[a] - (with[a] > 0)) / 2 : with[a] * with[b];
      counts[Evidence{0, 0}.Index()] = none;
      counts[Evidence{1, 0}.Index()] = one - counts[Evidence{1, 1}.Index()];
      counts[Evidence{2, 0}.Index()] = two - counts[Evidence{2, 1}.Index()] - counts[Evidence{2, 2}.Index()];
    }
  }
}

// Without bits (s = 1) a pair is a link when its classes say so: no pass over the pairs that are not.
void LinksOfThePrior(const Posterior& posterior, PairScan& scan) {
  const auto class_of_node = posterior.prior().class_of_node();
  std::vector<std::vector<NodeIndex>> members(scan.class_count);
  for (NodeIndex i = 0; i < class_of_node.size(); ++i) members[class_of_node[i]].push_back(i);
  for (uint32_t a = 0; a < scan.class_count; ++a) {
    for (uint32_t b = a; b < scan.class_count; ++b) {
      if (posterior.OnesNeeded(a, b, 0) > 0) continue;
      for (const NodeIndex i : members[a]) {
        for (const NodeIndex j : members[b]) {
          if (a != b || i < j) scan.links.emplace_back(std::min(i, j), std::max(i, j));
        }
      }
    }
  }
  std::sort(scan.links.begin(), scan.links.end());
}

}  // namespace

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

Evidence EvidenceOf(const ReportSet& reports, NodeIndex i, NodeIndex j) {
  Evidence evidence;
  if (!reports.parameters().sends_bits()) return evidence;
  for (const auto& [from, about] : {std::pair(i, j), std::pair(j, i)}) {
    if (!reports.reported(from)) continue;
    ++evidence.reports;
    evidence.ones += (reports.row(from)[about >> 6] >> (about & 63)) & 1;
  }
  return evidence;
}

PairScan ScanPairs(const ReportSet& reports, const Posterior& posterior, int threads,
                   const std::function<void(double)>& progress) {
  PairScan scan;
  scan.class_count = posterior.prior().class_count();
  scan.counts.assign(static_cast<size_t>(scan.class_count) * scan.class_count * kEvidences, 0);
  if (reports.parameters().sends_bits()) {
    Scanner scanner(reports, posterior);
    scanner.Run(threads, progress);
    scanner.Collect(scan);
  } else {
    LinksOfThePrior(posterior, scan);
  }
  FillZeroCounts(reports, posterior, scan);
  return scan;
}

}  // namespace blink
