// The strongest use of the reports: the aggregator takes the pairs for linked to which it gives the largest
// probability. Taken as far as there are links, this is the reconstruction of the graph.
#ifndef BLINK_TOOLS_LINK_AUDIT_POSTERIOR_ATTACK_H_
#define BLINK_TOOLS_LINK_AUDIT_POSTERIOR_ATTACK_H_

#include <string>

#include "absl/types/span.h"
#include "aggregator_server/links/link_weights.h"
#include "tools/link_audit/attack.h"

namespace blink {

// Score: P_ij, the weight of the variant Soft.
class PosteriorAttack : public LinkAttack {
 public:
  // `weights` outlives this.
  explicit PosteriorAttack(const LinkWeights& weights) : weights_(weights) {}
  std::string name() const override { return "posterior"; }
  void ScoreRow(NodeIndex node, absl::Span<float> out) const override { FillRow(weights_, node, out.data()); }

 private:
  const LinkWeights& weights_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_POSTERIOR_ATTACK_H_
