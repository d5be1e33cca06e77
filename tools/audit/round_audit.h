// `blink audit round`: audits the reports of one real round, in one run.
//
// Two kinds of true entries are known to an auditor, and each has a null hypothesis of its own.
//
// The round's own entries: the lists of some nodes, as their owners or test devices give them. Every bit of their
// reports is an independent randomised response of a known entry, n - 1 of them a list.
//   H0: every bit equals its entry with probability at most q = e^epsilon_a / (1 + e^epsilon_a), whatever the other
//       bits are. So the number of kept bits among m is at most Binomial(m, q), stochastically, and its Clopper-Pearson
//       limit bounds epsilon_a from below. The entries need not be random, for H0 speaks of the flips alone.
//   H0 of the degree: the noise of every node has one distribution, does not depend on the list, and
//       Pr[Y = y] <= e^epsilon_d Pr[Y = y +- 1]. Its form is not assumed.
//
// Canaries (canaries.h): entries that were fair coins.
//   H0: a report is epsilon-link-LDP. Nothing more is assumed.
//
// Where one end alone reports a pair (Mechanism::kOneEnd), only the entries that a report is about count.
//
// Lists that are not those that were reported (another epoch's) make the audit weaker, and accuse nobody: a bit that is
// compared with a wrong entry is kept with a smaller probability.
//
// The audit cannot show that a mechanism keeps its promise. It shows how much is spent at least.
#ifndef BLINK_TOOLS_AUDIT_ROUND_AUDIT_H_
#define BLINK_TOOLS_AUDIT_ROUND_AUDIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/reports/report_set.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "tools/audit/canaries.h"
#include "tools/audit/mechanism.h"

namespace blink {

// The true lists of some of n nodes.
class KnownLists {
 public:
  explicit KnownLists(uint32_t n) : known_(n), lists_(n) {}
  uint32_t node_count() const { return known_.size(); }
  // `list` ascends. A node that is known already must have the same list: INVALID_ARGUMENT names the node.
  absl::Status Add(NodeIndex node, absl::Span<const NodeIndex> list);
  void Remove(NodeIndex node) { known_.Clear(node); }
  bool Has(NodeIndex node) const { return known_.Test(node); }
  const std::vector<NodeIndex>& Of(NodeIndex node) const { return lists_[node]; }
  uint32_t count() const { return known_.Count(); }

 private:
  BitRow known_;
  std::vector<std::vector<NodeIndex>> lists_;  // [n]
};

// The smallest faults that the audit would have noticed with probability 0.99, by the normal approximation. None: not
// even noise of 0.
struct RoundPower {
  std::optional<double> flip_rate_change;    // by which part of it the flip probability is too small, below 1
  std::optional<double> noise_scale_change;  // ... the scale of the degree noise
};

struct RoundAudit {
  PrivacyParameters parameters;
  uint32_t reports = 0;         // of the round
  uint32_t audited = 0;         // nodes with a known list and a report
  uint32_t without_report = 0;  // nodes with a known list that did not report
  uint64_t bits = 0, ones = 0;  // entries of the audited lists, and the links among them
  uint32_t canaries = 0;        // canary nodes that reported
  uint64_t coins = 0, coins_guessed = 0;
  std::vector<EpsilonBound> bounds;
  std::vector<AuditCheck> checks;
  RoundPower power;
  std::vector<std::string> notes;  // not violations: more noise than promised
  bool passed() const;
};

// Bytes that an audit takes at its peak for lists of `entries` links in all, roughly, with the round's reports.
double RoundAuditBytes(const PrivacyParameters& parameters, uint64_t entries);

// All bounds hold at once with probability 1 - kFalseAlarmMax. The lists of canaries that are not in `lists` count as
// known too. Returns INVALID_ARGUMENT when lists or canaries are for another n, when a canary has another list in
// `lists`, or when none of the known nodes has reported.
absl::StatusOr<RoundAudit> AuditRound(const ReportSet& reports, KnownLists lists, const Canaries* canaries);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_ROUND_AUDIT_H_
