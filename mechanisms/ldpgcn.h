// ldpgcn (L-DpGCN): Laplace noise on every entry, and the largest pairs are links.
//
//   node        A~_ij = A_ij + Laplace(1 / epsilon), j != i
//   aggregator  e = round(sum of A~ / 2), clamped to 0 .. n (n - 1) / 2; the e pairs with the largest A~_ij + A~_ji are
//               links. Equal ones at the cut are chosen by a hash of the pair.
//
// One entry of one list costs epsilon, an undirected link 2 epsilon. Source: DpGCN of LinkTeller (Wu et al., S&P 2022)
// as Blink (CCS '23) compares with it, under local differential privacy.
//
// Every pair has a number: the aggregator holds 2 n^2 bytes, which Bytes() tells. Nothing less decides the cut.
#ifndef BLINK_MECHANISMS_LDPGCN_H_
#define BLINK_MECHANISMS_LDPGCN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/links/link_weights.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/privacy/random_source.h"

namespace blink {

class LdpGcnNode {
 public:
  // INVALID_ARGUMENT: epsilon or n is out of range (common/privacy/parameters.h).
  static absl::StatusOr<LdpGcnNode> Create(uint64_t epsilon_micro, uint32_t node_count);

  const PrivacyParameters& parameters() const { return parameters_; }
  // [n] noisy entries, in units of 1 / 1024 (fine_laplace.h); the node's own is 0. The noise is drawn before the list
  // is read. Errors as RrNode::Report.
  absl::StatusOr<std::vector<int64_t>> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                              RandomSource& random) const;

 private:
  explicit LdpGcnNode(const PrivacyParameters& parameters) : parameters_(parameters) {}
  PrivacyParameters parameters_;
};

class LdpGcnAggregator {
 public:
  // The sums of pairs, and a report on its way.
  static double Bytes(uint32_t node_count) { return 2.0 * node_count * node_count + 8.0 * node_count; }

  // Allocates what Bytes tells: ask for the memory first. `tie_seed`: of the hash.
  LdpGcnAggregator(uint32_t node_count, uint64_t tie_seed);
  // INVALID_ARGUMENT: `node` is not below n or has reported before, or there are not n entries. Entries beyond
  // +-500,000 links count as those: they say nothing of a link any more.
  absl::Status Add(NodeIndex node, absl::Span<const int64_t> entries);
  absl::StatusOr<LinkWeights> Links() &&;

 private:
  // The pairs before (i, j), i < j, in the order of `sums_`.
  static size_t PlaceOf(NodeIndex i, NodeIndex j) { return size_t{j} * (j - 1) / 2 + i; }
  int64_t LargestWithAtLeast(uint64_t pairs) const;

  const uint32_t node_count_;
  const uint64_t tie_seed_;
  BitRow reported_;
  std::vector<int32_t> sums_;  // [n (n - 1) / 2] A~_ij + A~_ji, in units
  double total_ = 0;           // of all entries, in units
};

}  // namespace blink

#endif  // BLINK_MECHANISMS_LDPGCN_H_
