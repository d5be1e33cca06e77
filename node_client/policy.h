// Whether a node answers a round, and from which epoch. Decided from the round's parameters, the kit's terms, the
// policy and the ledger alone: no list, no bit, nothing that depends on one can be reached from here, so a refusal says
// nothing about a list.
//
// One epoch, one draw: within an epoch the same parameters get the same report for every round; another epoch or other
// parameters are a new draw and a debit. (A reuse that depended on "has my list changed?" would reveal that with
// certainty.)
#ifndef BLINK_NODE_CLIENT_POLICY_H_
#define BLINK_NODE_CLIENT_POLICY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/wire/round.h"
#include "node_client/kit.h"
#include "node_client/ledger.h"

namespace blink {

// FAILED_PRECONDITION, naming the term and both values, when the round asks for another n, another roster version, a
// roster smaller than the policy allows, or a larger epsilon than the policy allows in one round.
absl::Status CheckTerms(const KitConfig& kit, const NodePolicy& policy, const RoundView& round);

// What one epoch answers. Further rounds cost no epsilon, and tiny budgets next to none, but all cost bytes of the
// journal: an aggregator that invents rounds must not fill the disk. A round writes at most 128 bytes for each hosted
// node and 256 of its own; other parameters write a report of n bits for each. Both limits depend on public numbers
// only, never on how long a list or a report is.
//   RoundsPerEpochMax      256 MiB of rounds and receipts, within 16 .. 1,024 rounds; 93 for 22,470 hosted nodes
//   ParametersPerEpochMax  512 MiB of drawn reports, within 8 .. 1,024 different parameters; 8 for these, all of n
inline constexpr uint32_t kRoundsPerEpochMax = 1024;
inline constexpr uint64_t kRoundBytesPerEpoch = 256 << 20;
inline constexpr uint64_t kDrawBytesPerEpoch = 512 << 20;
uint32_t RoundsPerEpochMax(uint32_t hosted);
uint32_t ParametersPerEpochMax(uint32_t hosted, uint32_t node_count);

struct DrawDecision {
  uint32_t epoch = 0;         // the draws of this epoch answer the round
  bool begins_epoch = false;  // lists are snapshotted first
  bool complete = false;      // every hosted node has its draw already
};

// `now` by the journal's clock. FAILED_PRECONDITION when the draw would exceed the lifetime budget of a hosted node,
// when a round that was answered before comes back with other parameters, or beyond what an epoch answers. Debits
// nothing: the draw does.
absl::StatusOr<DrawDecision> DecideDraw(const NodePolicy& policy, const Ledger& ledger, const RoundView& round,
                                        absl::Time now);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_POLICY_H_
