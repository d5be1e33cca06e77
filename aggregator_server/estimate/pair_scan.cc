#include "aggregator_server/estimate/pair_scan.h"

#include <algorithm>
#include <bit>

#include "aggregator_server/estimate/pair_masks.h"
#include "aggregator_server/estimate/pair_rows.h"

namespace blink {
namespace {

class Scanner {
 public:
  Scanner(const ReportSet& reports, const Posterior& posterior)
      : reports_(reports),
        class_count_(posterior.prior().class_count()),
        class_of_node_(posterior.prior().class_of_node()),
        masks_(reports, posterior.prior(),
               [&](uint32_t a, uint32_t b, Evidence evidence) { return posterior.IsLink(a, b, evidence); }),
        tile_links_(TileCount(reports.node_count())) {}

  void Run(int threads, const std::function<void(double)>& progress) {
    threads = ThreadsFor(threads, TileCount(reports_.node_count()));
    ones_.assign(threads, std::vector<uint64_t>(static_cast<size_t>(class_count_) * class_count_ * 3, 0));
    ForEachPairRow(
        reports_, PairSpan::kLater, threads, [this](const PairRow& row) { Visit(row); }, progress);
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
  void Visit(const PairRow& row) {
    auto& links = tile_links_[row.tile];
    masks_.ForEachLater(row, [&](NodeIndex j) { links.emplace_back(row.i, j); });
    const bool reported = reports_.reported(row.i);
    uint64_t* counts = &ones_[row.thread][static_cast<size_t>(class_of_node_[row.i]) * class_count_ * 3];
    const uint32_t words = reports_.words_per_row();
    for (uint32_t w = row.i / 64; w < words; ++w) {
      const uint64_t both = row.both[w];
      for (uint64_t bits = row.any[w]; bits != 0; bits &= bits - 1) {
        const uint64_t bit = bits & -bits;
        const NodeIndex j = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
        const int kind = !(reported && reports_.reported(j)) ? 0 : (both & bit) != 0 ? 2 : 1;
        ++counts[class_of_node_[j] * 3 + kind];
      }
    }
  }

  const ReportSet& reports_;
  const uint32_t class_count_;
  const absl::Span<const uint32_t> class_of_node_;
  const PairMasks masks_;                                                 // of the links
  std::vector<std::vector<std::pair<NodeIndex, NodeIndex>>> tile_links_;  // [tiles]
  std::vector<std::vector<uint64_t>> ones_;                               // [threads][K, K, 3]: evidence 1/1, 2/1, 2/2
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
      if (!posterior.IsLink(a, b, {0, 0})) continue;
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
