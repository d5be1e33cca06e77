// What `blink audit links` prints.
#ifndef BLINK_TOOLS_LINK_AUDIT_REPORT_H_
#define BLINK_TOOLS_LINK_AUDIT_REPORT_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/link_audit/findings.h"

namespace blink {

// One object: format (1), program, partial, trials_asked, trials_done, dataset, graph, training, seed, noise,
// false_positive_rate, sampled_nodes (null: all), influence_nodes, memory_need_bytes, meaning, groups, victims.
//   groups[]    name, degree_min, degree_max, nodes, links, pairs, and `chance` with the four measures
//   victims[]   victim ("features-only", "true-links" or "reports"), epsilon and degree_share (null but of reports),
//               test_accuracy, attacks[]
//   attacks[]   attack, kind, groups[] in the order of the groups above: auc, precision, recall, tpr_at_fpr
//   a measure   mean, standard_error (null for one trial) and trials[]; null where it is not defined. Of the attack
//               similarity-best also `distance`, which may be another one for each measure
nlohmann::ordered_json LinkAuditJson(const LinkAudit& audit);

// Tables for a person, one for each group of nodes.
std::string LinkAuditText(const LinkAudit& audit);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_REPORT_H_
