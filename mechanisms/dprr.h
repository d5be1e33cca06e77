// dprr: degree-preserving randomised response.
//
//   node        d~_i = d_i + discrete Laplace noise of scale 1 / (0.1 epsilon), and
//               A~_ij = A_ij xor Bernoulli(1 - p), j != i, with p = e^(0.9 epsilon) / (1 + e^(0.9 epsilon))
//   aggregator  keeps each reported one of node i with probability
//               q_i = d~_i / (d~_i (2p - 1) + (n - 1)(1 - p)), clamped to [0, 1]: then i keeps about d~_i links
//
// One entry of one list costs epsilon, an undirected link 2 epsilon. The report is that of LinkLDP with a degree share
// of 0.1. Source: Hidano and Murakami, "Degree-Preserving Randomized Response for Graph Neural Networks under Local
// Differential Privacy" (2022), with the shares that Blink (CCS '23) compares with.
#ifndef BLINK_MECHANISMS_DPRR_H_
#define BLINK_MECHANISMS_DPRR_H_

#include <cstdint>
#include <random>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/groups/reported_rows.h"
#include "common/privacy/parameters.h"
#include "common/privacy/private_report.h"
#include "common/privacy/random_source.h"

namespace blink {

class DpRrNode {
 public:
  // INVALID_ARGUMENT: epsilon or n is out of range (common/privacy/parameters.h).
  static absl::StatusOr<DpRrNode> Create(uint64_t epsilon_micro, uint32_t node_count);

  const PrivacyParameters& parameters() const { return parameters_; }
  // Errors as RrNode::Report.
  absl::StatusOr<PrivateReport> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                       RandomSource& random) const;

 private:
  explicit DpRrNode(const PrivacyParameters& parameters) : parameters_(parameters) {}
  PrivacyParameters parameters_;
};

// q_i above; 0 for a degree that is not positive.
double DpRrKeepProbability(const PrivacyParameters& parameters, int64_t noisy_degree);

class DpRrAggregator {
 public:
  // `parameters`: of the nodes. `seed`: which links are kept. The choice reads reports alone, so it costs no privacy.
  DpRrAggregator(const PrivacyParameters& parameters, uint64_t seed)
      : parameters_(parameters), random_(seed), rows_(parameters.node_count()) {}
  // INVALID_ARGUMENT: as ReportedRows::Add, `report` has not n bits, or lacks its degree.
  absl::Status Add(NodeIndex node, const PrivateReport& report);
  absl::StatusOr<LinkWeights> Links() && { return std::move(rows_).Directed(); }

 private:
  PrivacyParameters parameters_;
  std::mt19937_64 random_;
  ReportedRows rows_;
};

}  // namespace blink

#endif  // BLINK_MECHANISMS_DPRR_H_
