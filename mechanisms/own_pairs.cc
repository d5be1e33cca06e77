#include "mechanisms/own_pairs.h"

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/privacy/privatizer.h"

namespace blink {

BitRow OwnPairs(PairRule rule, NodeIndex self, uint32_t node_count) {
  BitRow own(node_count);
  for (NodeIndex j = 0; j < node_count; ++j) {
    if (j != self && Owns(rule, self, j)) own.Set(j);
  }
  return own;
}

absl::StatusOr<PrivateReport> ReportOwnPairs(const PrivacyParameters& parameters, PairRule rule, NodeIndex self,
                                             absl::Span<const NodeIndex> neighbours, RandomSource& random) {
  // Flips of other pairs are drawn and dropped: how many words are drawn depends on n and epsilon alone.
  BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters, self, random));
  const BitRow own = OwnPairs(rule, self, parameters.node_count());
  const absl::Span<uint64_t> flips = noise.flips.mutable_words();
  for (size_t w = 0; w < flips.size(); ++w) flips[w] &= own.words()[w];
  std::vector<NodeIndex> own_neighbours;
  for (const NodeIndex j : neighbours) {
    // What is no node below n stays, for ApplyNoise to refuse.
    if (j == self || j >= parameters.node_count() || own.Test(j)) own_neighbours.push_back(j);
  }
  return ApplyNoise(parameters, self, std::move(noise), own_neighbours);
}

}  // namespace blink
