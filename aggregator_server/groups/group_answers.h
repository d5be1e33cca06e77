// What becomes of the answers to the questions of LDPGen: the groups of the second question, and then links.
//
//   1  the answers are the degree vectors towards 2 random groups. eta_u = the sum of an answer, rounded, clamped to
//      1 .. n - 1; k = ceil(mean over u of f(eta_u / 2)), clamped to 1 .. n, with
//      f(d) = d + (d^2 - 2 (1 + sqrt 5) d + 1) / (epsilon / 2). k-means of the answers gives the groups
//   2  the answers are the degree vectors towards these groups. k-means of them gives as many final groups. From here
//      on the answers are rounded and at least 0. The vector of each node towards the final groups is
//      delta_i = sum_j answer_j |groups j and i| / |group j|
//   3  directed links are drawn from the block Chung-Lu model of these vectors (block_chung_lu.h)
//
// Source: Qin et al., "Generating Synthetic Decentralized Social Graphs with Local Differential Privacy" (CCS 2017),
// with f and the rounding as Blink (CCS '23) compares with it.
//
// A node that did not answer is grouped as if it had given the mean answer. It names nobody; others may name it.
// Answers are taken as if they were in -n .. 2n, since no list has more. Of what a node says of a group in step 2, no
// more counts than the group has nodes.
#ifndef BLINK_AGGREGATOR_SERVER_GROUPS_GROUP_ANSWERS_H_
#define BLINK_AGGREGATOR_SERVER_GROUPS_GROUP_ANSWERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/links/link_weights.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/node_groups.h"

namespace blink {

// The mean of f above over the noisy degrees, as a number of groups. `epsilon`: of both questions together.
uint32_t LdpGenGroupCount(absl::Span<const uint32_t> degrees, double epsilon);

// Step 2's vectors [n, k]: `answers` [n, k] towards the k groups `asked`, spread over the k groups `final_groups` as
// the members of each asked group are.
std::vector<float> LdpGenVectors(absl::Span<const float> answers, const NodeGroups& asked,
                                 const NodeGroups& final_groups);

// The answers to one question.
struct GroupAnswersRead {
  NodeGroups asked;
  BitRow answered;             // [n]
  std::vector<float> degrees;  // [n, asked.count] row-major, finite; ignored where a node did not answer
};

struct NextGroups {
  NodeGroups groups;    // none of them is empty
  uint32_t wanted = 0;  // k of the formula
};

// The nodes whose answer no list can have given with noise of scale 1/epsilon: a number is below 0, or above the nodes
// of its group, by more than the noise of all answers together reaches once in 1 / false_alarm times. Ascending.
std::vector<NodeIndex> FindImplausibleAnswers(const GroupAnswersRead& answers, double epsilon,
                                              double false_alarm = 1e-3);

// How many groups k-means makes of n nodes and reads as many numbers of each in about an hour of one core. Below 3,600
// nodes there may be as many as nodes.
inline uint32_t GroupsInAnHour(uint32_t node_count) {
  constexpr double kOperations = 3.6e13, kOfOneGroupAndNumber = 100;  // 50 iterations of two operations each
  return static_cast<uint32_t>(std::clamp(std::sqrt(kOperations / kOfOneGroupAndNumber / node_count), 1.0, 1e4));
}

struct NextGroupsOptions {
  uint32_t groups_max = 1000;
  // The largest degrees, this share of them, count as the largest of the others in the mean of f, which grows with
  // their squares: otherwise a single node that lies decides how many groups there are. 0: as in the publication.
  double trimmed = 0;
  uint64_t seed = 1;
  int threads = 0;
};
// Step 1. Groups in which no node is are left out. INVALID_ARGUMENT: the sizes of `answers` do not fit each other, or
// nobody answered. `epsilon`: of both questions together.
absl::StatusOr<NextGroups> FindNextGroups(GroupAnswersRead answers, double epsilon, const NextGroupsOptions& options);

// Steps 2 and 3. Row v of the links has the nodes that name v. INVALID_ARGUMENT as above.
absl::StatusOr<LinkWeights> DrawGroupLinks(GroupAnswersRead answers, uint64_t seed, int threads);

// What DrawGroupLinks takes: the answers, the vectors and the groups' sums.
inline double GroupLinksBytes(uint32_t node_count, uint32_t groups) {
  return 8.0 * node_count * groups + 20.0 * groups * groups + 64.0 * node_count;
}

// How many links of one answer noise alone makes, in the mean: the discrete Laplace noise of each number of links, as
// far as it is positive.
inline double NoiseLinksOfAnswer(double epsilon, uint32_t groups) {
  return groups * std::exp(-epsilon) / -std::expm1(-2 * epsilon);
}

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_GROUPS_GROUP_ANSWERS_H_
