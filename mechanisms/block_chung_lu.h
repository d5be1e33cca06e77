// A random graph of a block Chung-Lu model: every node u of group i has a weight w_uj towards every group j, the number
// of links that it shall have there. For u of group i and v of group j, independently of all other pairs,
//
//   P(link uv) = min(1, w_uj w_vi / M_ij),   M_ij = (E_ij + E_ji) / 2,   E_ij = sum of w_uj over the nodes u of i
//
// Where no pair is clipped and both groups agree about their links (E_ij = E_ji), u has w_uj links towards j in
// expectation; within its own group a little less, since it has none to itself. Source: Chung and Lu (2002), in blocks
// as LDPGen uses it (Qin et al., CCS 2017).
#ifndef BLINK_MECHANISMS_BLOCK_CHUNG_LU_H_
#define BLINK_MECHANISMS_BLOCK_CHUNG_LU_H_

#include <cstdint>
#include <random>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/graph/csr_graph.h"

namespace blink {

// `weights`: [n, groups] row-major, finite and at least 0. `group_of`: [n], below `groups`; groups may be empty.
// INVALID_ARGUMENT: sizes or values that are not so.
//
// Pairs are not looked at one by one: the candidates of a node are taken by descending weight, and those between two
// links are skipped (Miller and Hagberg, 2011). Time: n groups log n, and the links.
absl::StatusOr<CsrGraph> DrawBlockChungLu(absl::Span<const float> weights, absl::Span<const uint32_t> group_of,
                                          uint32_t groups, std::mt19937_64& random);

// The probability above, for a test to compare with; M is given.
inline double BlockChungLuProbability(double w_uj, double w_vi, double m_ij) {
  return m_ij > 0 ? (w_uj * w_vi < m_ij ? w_uj * w_vi / m_ij : 1.0) : 0.0;
}

}  // namespace blink

#endif  // BLINK_MECHANISMS_BLOCK_CHUNG_LU_H_
