#include "aggregator_server/estimate/pair_masks.h"

#include <map>
#include <utility>

namespace blink {

PairMasks::PairMasks(const ReportSet& reports, const LinkPrior& prior, const Property& has)
    : reports_(reports), class_of_node_(prior.class_of_node()) {
  const uint32_t n = reports.node_count(), classes = prior.class_count();
  std::vector<uint8_t> present(2 * static_cast<size_t>(classes), 0);  // by class, and whether it reported
  for (NodeIndex i = 0; i < n; ++i) present[2 * static_cast<size_t>(class_of_node_[i]) + CountsAsReported(i)] = 1;

  kinds_.resize(present.size());
  std::map<std::vector<bool>, uint32_t> known;  // the kinds of other nodes that have the property -> mask
  const auto mask_of = [&](const std::vector<bool>& kinds) {
    const auto [found, is_new] = known.emplace(kinds, static_cast<uint32_t>(masks_.size()));
    if (!is_new) return found->second;
    std::vector<uint64_t>& mask = masks_.emplace_back((n + 63) / 64, 0);
    for (NodeIndex j = 0; j < n; ++j) {
      const bool in = kinds[2 * static_cast<size_t>(class_of_node_[j]) + CountsAsReported(j)];
      mask[j >> 6] |= uint64_t{in} << (j & 63);
    }
    return found->second;
  };
  mask_of(std::vector<bool>(present.size(), false));
  std::vector<bool> kinds(present.size());
  for (size_t row = 0; row < present.size(); ++row) {
    if (!present[row]) continue;
    for (int ones = 0; ones <= 2; ++ones) {
      for (size_t other = 0; other < present.size(); ++other) {
        const int received = static_cast<int>(row % 2 + other % 2);
        kinds[other] = present[other] && ones <= received &&
                       has(static_cast<uint32_t>(row / 2), static_cast<uint32_t>(other / 2), {received, ones});
      }
      kinds_[row].mask[ones] = mask_of(kinds);
    }
  }
}

}  // namespace blink
