// symrr: randomised response in which each pair is reported once, by the lower triangle of the matrix, and mirrored.
//
//   node        A~_ij = A_ij xor Bernoulli(p), j < i, p = 1 / (1 + e^epsilon)
//   aggregator  every reported one is an undirected link
//
// A link costs epsilon: no report depends on its other entry. Source: the baseline SymRR of Blink (CCS '23).
#ifndef BLINK_MECHANISMS_SYMRR_H_
#define BLINK_MECHANISMS_SYMRR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/groups/reported_rows.h"
#include "common/privacy/parameters.h"
#include "common/privacy/random_source.h"

namespace blink {

class SymRrNode {
 public:
  // INVALID_ARGUMENT: epsilon or n is out of range (common/privacy/parameters.h).
  static absl::StatusOr<SymRrNode> Create(uint64_t epsilon_micro, uint32_t node_count);

  const PrivacyParameters& parameters() const { return parameters_; }
  // [self] bits about the nodes before `self`. Errors as RrNode::Report.
  absl::StatusOr<BitRow> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours, RandomSource& random) const;

 private:
  explicit SymRrNode(const PrivacyParameters& parameters) : parameters_(parameters) {}
  PrivacyParameters parameters_;
};

class SymRrAggregator {
 public:
  explicit SymRrAggregator(uint32_t node_count) : rows_(node_count) {}
  // INVALID_ARGUMENT: as ReportedRows::Add, or `bits` are not `node`.
  absl::Status Add(NodeIndex node, const BitRow& bits);
  absl::StatusOr<LinkWeights> Links() && { return std::move(rows_).Undirected(); }

 private:
  ReportedRows rows_;
};

}  // namespace blink

#endif  // BLINK_MECHANISMS_SYMRR_H_
