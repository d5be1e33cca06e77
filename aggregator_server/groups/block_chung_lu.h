// A random graph of a block Chung-Lu model: every node u of group i has a weight w_uj towards every group j, the number
// of links that it shall have there. For u of group i and each other node v of group j, independently,
//
//   P(u names v) = min(1, w_uj (S_j / n_j) / (S_j + T_ij)),   S_j = sum of w_uj over all u, T_ij = over those of i
//
// where n_j is the size of group j. So u names about w_uj S_j / (S_j + T_ij) nodes of j, all of them alike. The links
// are directed. Source: LDPGen (Qin et al., CCS 2017), in the form in which Blink (CCS '23) compares with it.
#ifndef BLINK_AGGREGATOR_SERVER_GROUPS_BLOCK_CHUNG_LU_H_
#define BLINK_AGGREGATOR_SERVER_GROUPS_BLOCK_CHUNG_LU_H_

#include <cstdint>
#include <random>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/links/link_weights.h"

namespace blink {

// `weights`: [n, groups] row-major, finite and at least 0. `group_of`: [n], below `groups`; groups may be empty. Row v
// of the result has the nodes that name v. INVALID_ARGUMENT: sizes or values that are not so.
//
// Pairs are not looked at one by one: those between two links are skipped at once. Time: n groups, and the links.
absl::StatusOr<LinkWeights> DrawBlockChungLu(absl::Span<const float> weights, absl::Span<const uint32_t> group_of,
                                             uint32_t groups, std::mt19937_64& random);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_GROUPS_BLOCK_CHUNG_LU_H_
