// rr: randomised response on the whole list, with all of the budget, used as it is.
//
//   node        A~_ij = A_ij xor Bernoulli(p), j != i, p = 1 / (1 + e^epsilon)
//   aggregator  every reported one is a directed link
//
// One entry of one list costs epsilon, an undirected link 2 epsilon. Source: the baseline RR of Blink (CCS '23).
#ifndef BLINK_MECHANISMS_RR_H_
#define BLINK_MECHANISMS_RR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/groups/reported_rows.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/privacy/random_source.h"

namespace blink {

// The nodes whose bit is 1, ascending.
std::vector<NodeIndex> OnesOf(const BitRow& bits);

class RrNode {
 public:
  // INVALID_ARGUMENT: epsilon or n is out of range (common/privacy/parameters.h).
  static absl::StatusOr<RrNode> Create(uint64_t epsilon_micro, uint32_t node_count);

  const PrivacyParameters& parameters() const { return parameters_; }
  // [n] bits of node `self`; its own bit is 0. The noise is drawn before the list is read. UNAVAILABLE: the random
  // source fails. INVALID_ARGUMENT: `neighbours` are no list of distinct other nodes below n.
  absl::StatusOr<BitRow> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours, RandomSource& random) const;

 private:
  explicit RrNode(const PrivacyParameters& parameters) : parameters_(parameters) {}
  PrivacyParameters parameters_;
};

class RrAggregator {
 public:
  explicit RrAggregator(uint32_t node_count) : rows_(node_count) {}
  // INVALID_ARGUMENT: as ReportedRows::Add, or `bits` are not n.
  absl::Status Add(NodeIndex node, const BitRow& bits);
  absl::StatusOr<LinkWeights> Links() && { return std::move(rows_).Directed(); }

 private:
  ReportedRows rows_;
};

}  // namespace blink

#endif  // BLINK_MECHANISMS_RR_H_
