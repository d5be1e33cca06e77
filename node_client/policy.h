// Decides whether a node answers a round, and with the draws of which epoch.
//
// The decision uses the round's parameters, the kit's terms, the policy and the ledger alone. No list or bit can be
// reached from here, nor anything that depends on one. So a refusal says nothing about a list.
//
// One epoch, one draw: within an epoch, the same parameters get the same report in every round. Another epoch or other
// parameters are a new draw, and a debit. (If a node drew anew just when its list has changed, it would reveal with
// certainty that the list has changed.)
#ifndef BLINK_NODE_CLIENT_POLICY_H_
#define BLINK_NODE_CLIENT_POLICY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/wire/round.h"
#include "node_client/kit.h"
#include "node_client/ledger.h"

namespace blink {

// Returns FAILED_PRECONDITION, naming the term and both values, when the round asks for another n, another roster
// version, a smaller roster than the policy allows, a larger epsilon than the policy allows in one round, or another
// mechanism than the policy allows.
absl::Status CheckTerms(const KitConfig& kit, const NodePolicy& policy, const RoundView& round);

// How much one epoch answers. An aggregator that invents rounds must not fill the disk: a further round costs no
// epsilon, and a tiny budget costs almost none, but both cost bytes of the journal. A round writes at most 256 bytes,
// and 128 for each hosted node. Other parameters write a report of n bits for each hosted node, or of a number for each
// group. The limits depend on public numbers alone, never on the length of a list or report.
//
//   limit                  bytes                           range           22,470 hosted nodes of 22,470
//   RoundsPerEpochMax      256 MiB of rounds and receipts  16 .. 1,024     93 rounds
//   ParametersPerEpochMax  512 MiB of drawn reports        8 .. 1,024      8 different parameters
inline constexpr uint32_t kRoundsPerEpochMax = 1024;
inline constexpr uint64_t kRoundBytesPerEpoch = 256 << 20;
inline constexpr uint64_t kDrawBytesPerEpoch = 512 << 20;
uint32_t RoundsPerEpochMax(uint32_t hosted);
uint32_t ParametersPerEpochMax(uint32_t hosted, uint32_t node_count, uint32_t groups = 0);

struct DrawDecision {
  uint32_t epoch = 0;         // the draws of this epoch answer the round
  bool begins_epoch = false;  // a snapshot of the lists is taken first
  bool complete = false;      // every hosted node has its draw already
};

// Decides on the draw for a round. `now` is the time by the journal's clock. Debits nothing; the draw does. Returns
// FAILED_PRECONDITION when
// - the draw would exceed the lifetime budget of a hosted node,
// - a round that was answered before comes back with other parameters, or
// - the epoch has answered as much as it may.
absl::StatusOr<DrawDecision> DecideDraw(const NodePolicy& policy, const Ledger& ledger, const RoundView& round,
                                        absl::Time now);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_POLICY_H_
