// What an audit of links found: the measures of each attack on each victim, trial by trial. figures.h has the means.
#ifndef BLINK_TOOLS_LINK_AUDIT_FINDINGS_H_
#define BLINK_TOOLS_LINK_AUDIT_FINDINGS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/wire/training_choices.h"
#include "tools/link_audit/measures.h"
#include "tools/link_audit/node_groups.h"

namespace blink {

// What the attacker sees.
enum class VictimKind {
  kFeaturesOnly,  // public features, and the predictions of an MLP on them: no link and no report
  kTrueLinks,     // the predictions of the model on the true links: without privacy
  kReports        // the reports at some budget, and the predictions of the model on what is estimated from them
};
struct Victim {
  VictimKind kind = VictimKind::kReports;
  uint64_t epsilon_micro = 0, degree_share_ppm = 0;  // of kReports
};

enum class AttackKind { kPosterior, kFeatures, kSimilarity, kInfluence };
struct AttackResult {
  AttackKind kind = AttackKind::kPosterior;
  std::string name;
  std::array<LinkMeasures, kGroups> groups;
};

struct VictimTrial {
  double test_accuracy = 0;           // of the model; NaN: no test node
  std::vector<AttackResult> attacks;  // the same of every trial, in the same order
};
struct AuditTrial {
  uint64_t seed = 0;
  std::vector<VictimTrial> victims;  // as LinkAudit::victims
};

struct LinkAudit {
  std::string dataset_name, dataset_sha256;  // the digest in hexadecimal (dataset_digest.h)
  uint32_t nodes = 0, features = 0, classes = 0;
  uint64_t links = 0;
  std::array<NodeGroup, kGroups> groups;
  std::vector<Victim> victims;
  Model model = Model::kGcn;  // of the victims that see links
  Prior prior = Prior::kBeta;
  Variant variant = Variant::kHybrid;
  uint64_t seed = 0;
  bool seeded_noise = false;  // NOT PRIVATE
  // Nodes of each group whose pairs are looked at, in each trial others; absent: all.
  std::optional<uint32_t> sampled_nodes;
  uint32_t influence_nodes = 0;  // likewise, for the influence
  double memory_need_bytes = 0;  // at the peak; an estimate
  int trials_asked = 0;
  std::vector<AuditTrial> trials;  // those that are finished

  bool partial() const { return trials.size() < static_cast<size_t>(trials_asked); }
};

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_FINDINGS_H_
