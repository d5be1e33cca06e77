// one-end: every pair is reported by one of its ends alone, with all of the budget; then as Blink.
//
//   rule        i + j even: the smaller end; odd: the larger (own_pairs.h). A node has half of its pairs
//   node        A~_ij = A_ij xor Bernoulli(p) for its own pairs, p = 1 / (1 + e^((1 - s) epsilon)), and
//               o~_i = its links among them + discrete Laplace noise of scale 1 / (s epsilon)
//   aggregator  logit P_ij = prior +- ln((1 - p) / p), by the pair's one bit. The prior is that of Blink: the
//               beta-model of the degrees, or the attributed one. The degrees are the posterior means of
//               estimate/attributed/degree_posterior.h from 2 o~_i, all bits about the node, and the other degrees
//
// A link costs epsilon, not 2 epsilon: one list alone is read about it, both by the bits and by the degree. So at the
// same cost of a link, one end has twice the epsilon of two ends. A report has half the bits.
//
// What it loses: nobody else speaks of a pair. A false report cannot be seen by comparing it with the other end's, and
// where a report is missing nothing is known of its pairs but the prior.
#ifndef BLINK_MECHANISMS_ONE_END_H_
#define BLINK_MECHANISMS_ONE_END_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/reports/report_set.h"
#include "common/privacy/parameters.h"
#include "common/privacy/private_report.h"
#include "common/privacy/random_source.h"

namespace blink {

class OneEndNode {
 public:
  explicit OneEndNode(const PrivacyParameters& parameters) : parameters_(parameters) {}

  // Bits [n] that are 0 for pairs that are not its own, and the noisy number of links among its own. A report on the
  // wire has no more than these bits. Errors as RrNode::Report.
  absl::StatusOr<PrivateReport> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                       RandomSource& random) const;

 private:
  PrivacyParameters parameters_;
};

class OneEndAggregator {
 public:
  explicit OneEndAggregator(const PrivacyParameters& parameters) : reports_(parameters) {}
  // INVALID_ARGUMENT: as ReportSet::Add, or a bit is 1 of a pair that is not the node's own.
  absl::Status Add(NodeIndex node, PrivateReport report);
  // Mirrored, for Analyse (aggregator_server/worker/analyse.h). FAILED_PRECONDITION: a node has not reported.
  absl::StatusOr<ReportSet> Reports() &&;

 private:
  ReportSet reports_;
};

}  // namespace blink

#endif  // BLINK_MECHANISMS_ONE_END_H_
