// ldpgen (LDPGen): two questions about the links towards groups of nodes, and a random graph that fits the answers.
//
//   1  the aggregator deals the nodes into 2 random groups; node u answers its degree vector, the links towards each
//      group, plus Laplace noise of scale 2 / epsilon on each entry
//   2  the answers give k groups; node u answers its degree vector towards them, with the same noise
//   3  these answers give directed links
//
// What the aggregator computes is in aggregator_server/groups/group_answers.h.
//
// A change of one entry of a list changes one number of each answer by 1: an answer costs epsilon / 2, both epsilon,
// and an undirected link 2 epsilon. Source: Qin et al., "Generating Synthetic Decentralized Social Graphs with Local
// Differential Privacy" (CCS 2017). The noise is on a grid of 1/1024 (fine_laplace.h).
#ifndef BLINK_MECHANISMS_LDPGEN_H_
#define BLINK_MECHANISMS_LDPGEN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/groups/group_answers.h"
#include "aggregator_server/links/link_weights.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/node_groups.h"
#include "common/privacy/parameters.h"
#include "common/privacy/random_source.h"

namespace blink {

class LdpGenNode {
 public:
  // INVALID_ARGUMENT: epsilon or n is out of range (common/privacy/parameters.h).
  static absl::StatusOr<LdpGenNode> Create(uint64_t epsilon_micro, uint32_t node_count);

  const PrivacyParameters& parameters() const { return parameters_; }
  // [groups] noisy links towards each group, in units of 1 / 1024. Costs epsilon / 2: a node answers two questions. The
  // noise is drawn before the list is read. INVALID_ARGUMENT: `groups` do not partition the n nodes, or as
  // RrNode::Report.
  absl::StatusOr<std::vector<int64_t>> Answer(const NodeGroups& groups, NodeIndex self,
                                              absl::Span<const NodeIndex> neighbours, RandomSource& random) const;

 private:
  explicit LdpGenNode(const PrivacyParameters& parameters) : parameters_(parameters) {}
  PrivacyParameters parameters_;
};

class LdpGenAggregator {
 public:
  // What n nodes and k groups take.
  static double Bytes(uint32_t node_count, uint32_t groups) { return GroupLinksBytes(node_count, groups); }

  // `seed`: of the first groups, k-means and the links. All of it reads answers alone, so it costs no privacy.
  LdpGenAggregator(const PrivacyParameters& parameters, uint64_t seed, int threads);

  // The question that is open now: first two groups, after NextQuestion those of k-means.
  const NodeGroups& groups() const { return groups_; }
  // INVALID_ARGUMENT: `node` is not below n or has answered this question, or the answer has not one number a group.
  absl::Status Add(NodeIndex node, absl::Span<const int64_t> answer);
  // FAILED_PRECONDITION: a node has not answered yet, or both questions were asked. What Bytes tells of the new groups
  // is taken from the first answer on: ask for the memory before.
  absl::Status NextQuestion();
  // FAILED_PRECONDITION: a node has not answered the second question.
  absl::StatusOr<LinkWeights> Links() &&;

 private:
  absl::Status CheckComplete() const;

  const PrivacyParameters parameters_;
  const uint64_t seed_;
  const int threads_;
  NodeGroups groups_;
  int question_ = 1;
  BitRow answered_;
  std::vector<float> answers_;  // [n, groups]; empty before the first answer
};

}  // namespace blink

#endif  // BLINK_MECHANISMS_LDPGEN_H_
