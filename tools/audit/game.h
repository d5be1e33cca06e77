// `blink audit game`: the game that differential privacy bounds, played with the shipped privatiser.
//
//   two worlds        one graph without the link {i, j}, and the same graph with it: entry j of i's list, i of j's
//   a play            every node draws its report in one of the two worlds
//   an attacker       sees reports, knows everything else, and gives a score: the larger, the likelier the link
//   a point of a ROC  "there is a link" where the score reaches a threshold: TPR with the link, FPR without it
//
// A report is epsilon-link-LDP for one entry of one list, so two reports spend 2 epsilon on a link. Every attacker's
// points then obey TPR <= e^(2 epsilon) FPR and 1 - FPR <= e^(2 epsilon) (1 - TPR), and the same the other way round.
// A point that breaks this by more than its confidence interval proves that the mechanism breaks its promise. By the
// same limits every point bounds from below what is spent.
//
// Under Mechanism::kOneEnd one of the two reports is about the link, which costs epsilon, and the other one tells
// nothing: its attacker looks at the number of its ones and its degree.
//
// Attackers: the likelihood ratio of both reports (the optimal one), that of one report alone (which sees one entry,
// and is bound by epsilon), and the aggregator's own estimate P_ij from the reports of all nodes.
#ifndef BLINK_TOOLS_AUDIT_GAME_H_
#define BLINK_TOOLS_AUDIT_GAME_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "tools/audit/mechanism.h"

namespace blink {

// The graph without the link, whose ends are `i` and `j`. Nodes and lists are the same in every game of n nodes.
struct GameGraph {
  std::vector<std::vector<NodeIndex>> lists;  // [n], ascending
  NodeIndex i = 0, j = 0;
  // List `node` in the world with the link, or in the one without it.
  std::vector<NodeIndex> ListOf(NodeIndex node, bool with_link) const;
};
// A tree-like graph with a few hubs; i and j have two links each. n >= 8.
GameGraph MakeGameGraph(uint32_t n);

// What the reports of all nodes, and those of `i` and `j` among them, say of a link {i, j}.
struct GameScores {
  double both = 0;      // log-likelihood ratio of both reports
  double first = 0;     // ... of i's report alone; where it is not about the link, its ones and its degree
  double second = 0;    // likewise of j's
  double estimate = 0;  // log-odds of P_ij
};
// `reports` [n]. Errors are those of the estimate.
absl::StatusOr<GameScores> ScoreReports(const PrivacyParameters& parameters, const GameGraph& graph,
                                        const std::vector<AuditedReport>& reports);

// A rate with its confidence interval.
struct BoundedRate {
  double rate = 0, low = 0, high = 1;
};

struct RocPoint {
  double threshold = 0;
  BoundedRate tpr, fpr;
  double lower = 0;  // epsilon that this point alone proves
  bool violated = false;
};

struct GameAttacker {
  std::string sees;
  double promised = 0;           // epsilon of what is guessed: of the link, or of one entry
  std::vector<RocPoint> roc;     // from the smallest threshold on
  double lower = 0;              // epsilon that the points prove
  double right_guesses = 0.5;    // the largest share of right guesses, in plays of both worlds alike
  double right_guesses_max = 1;  // what the promise allows: e^promised / (1 + e^promised)
  bool violated = false;         // in one of its points at least
};

struct LinkGame {
  PrivacyParameters parameters;
  uint64_t plays_of_world = 0;  // the fewer of the two
  uint64_t plays_asked = 0;
  int threads = 0;
  double seconds = 0;
  double provable = 0;  // the largest epsilon that so many plays could prove
  std::vector<GameAttacker> attackers;
  bool passed() const;
  bool partial() const { return plays_of_world < plays_asked; }
};

struct LinkGameOptions {
  PrivacyParameters parameters;
  uint64_t plays = 100'000;  // of each world, 1,000 .. 10^9
  int threads = 1;           // 1 .. 1024
  bool progress = false;
  const std::atomic<bool>* stop = nullptr;  // becomes true: judge what is there
};

// Bytes that a game takes at its peak, roughly.
double LinkGameBytes(const LinkGameOptions& options);

// All confidence intervals of a game hold at once with probability 1 - kFalseAlarmMax: they are those of Clopper and
// Pearson, and Bonferroni's correction covers all thresholds of all attackers. The thresholds of a likelihood ratio are
// the values that it takes. Those of the estimate are quantiles of a pilot sample, which is drawn beforehand and not
// counted. So no threshold depends on a play that counts.
//
// Returns INVALID_ARGUMENT for options out of range (n is 8 .. 1,024), and the errors of mechanism and estimate.
absl::StatusOr<LinkGame> PlayLinkGame(const LinkGameOptions& options, const AuditedMechanismFactory& factory);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_GAME_H_
