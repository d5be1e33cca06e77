// What the public features alone tell, without any model and any report: nodes of similar features are taken for
// linked.
#ifndef BLINK_TOOLS_LINK_AUDIT_FEATURE_ATTACK_H_
#define BLINK_TOOLS_LINK_AUDIT_FEATURE_ATTACK_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/graph/node_attributes.h"
#include "tools/link_audit/attack.h"

namespace blink {

// Score: the cosine of the two rows of features; 0 where one is zero.
class FeatureAttack : public LinkAttack {
 public:
  explicit FeatureAttack(FeatureMatrix features);
  std::string name() const override { return "features"; }
  void ScoreRow(NodeIndex node, absl::Span<float> out) const override;

 private:
  FeatureMatrix directions_;  // rows of length 1 or 0
};

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_FEATURE_ATTACK_H_
