// An attack on single links: a score for each pair of nodes, from what somebody sees who wants to know whether the two
// are linked. What the score means, and on what scale, is the attack's own matter: only the order of pairs counts.
#ifndef BLINK_TOOLS_LINK_AUDIT_ATTACK_H_
#define BLINK_TOOLS_LINK_AUDIT_ATTACK_H_

#include <string>

#include "absl/types/span.h"
#include "common/privacy/bit_row.h"

namespace blink {

class LinkAttack {
 public:
  virtual ~LinkAttack() = default;
  virtual std::string name() const = 0;
  // Scores the pairs of `node` with all nodes into out[n]: the larger, the likelier a link. The value at `node` itself
  // means nothing. Several threads may call it.
  virtual void ScoreRow(NodeIndex node, absl::Span<float> out) const = 0;
};

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_ATTACK_H_
