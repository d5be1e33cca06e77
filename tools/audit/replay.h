// `blink audit replay`: runs the node's own code twice with the same random tape, on lists that differ in one entry.
// Whatever can be seen of the two lives must be the same, but for what the mechanism privatises.
//
//   kit folder -> LoadKit -> Agent -> journal -> codec -> link
//
//   world 1   list L   of one hosted node     the tape is recorded from SecureRandom()
//   world 2   list L', one entry more or less  the tape is played
//
// In each world a first process answers a round, and a second one, whose kit has the *other* list, answers a further
// round of the same epoch and parameters. The kit, the journal and the aggregator are files and objects of this audit;
// all code between them is what blink-node runs. The tape comes in through the RandomSource that Agent takes; no
// program takes one from outside.
//
// The statement about the mechanism is the proof's (common/privacy/README.md). This audit shows that nothing around it
// adds anything: no branch, size, request or message depends on the entry.
#ifndef BLINK_TOOLS_AUDIT_REPLAY_H_
#define BLINK_TOOLS_AUDIT_REPLAY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/privacy/parameters.h"
#include "common/privacy/random_source.h"
#include "node_client/agent.h"
#include "node_client/aggregator_link.h"
#include "node_client/kit.h"

namespace blink {

// What a process of a node gets.
struct NodeLife {
  std::string kit_folder, journal_folder;
  AggregatorLink& link;
  Clock& clock;
  RandomSource& random;
};
using NodeProcess = std::function<absl::StatusOr<AgentOutcome>(const NodeLife& life)>;

// What blink-node does: LoadKit, Journal::Open, Agent::Run. Returns when every round that it saw is sealed.
absl::StatusOr<AgentOutcome> RunShippedNode(const NodeLife& life);

// The claims, in the order of ReplayAudit::claims.
enum ReplayClaim {
  kEntryBit,        // the bits of the node's report differ in the entry, if they are about it, and in no other; its
                    // numbers of links towards groups differ by one in the group of the entry
  kEntryDegree,     // its noisy degree differs by one, in the entry's direction
  kOtherReports,    // all other reports of the kit are the same, byte for byte
  kSentAsDrawn,     // what is sent are the bytes of the journal; retired nodes send nothing
  kSameRandomness,  // the same requests of random bytes, in the same order
  kSameCalls,       // the same calls and sleeps at the same times, and the same end
  kSameLog,         // the same lines in the log
  kSameRecords,     // the same records in the journal, but for the list, the report and its digest
  kSameFiles,       // the same files, of the same sizes but for the journal's
  kSameAnswer,      // a further round of the epoch gets the same bytes, although the kit's list has changed
  kReplayClaims
};
const char* NameOf(ReplayClaim claim);

struct ClaimCount {
  uint64_t compared = 0;
  uint64_t broken = 0;
  std::string example;  // the first case in which it was broken
};

struct ReplayAudit {
  uint64_t cases = 0, cases_asked = 0;
  uint64_t reports = 0;       // that were drawn in both worlds
  uint64_t sizes_differ = 0;  // cases in which the coded sizes differ, as they may: they depend on the bits
  double seconds = 0;
  std::vector<ClaimCount> claims;  // [kReplayClaims]
  bool passed() const;
  bool partial() const { return cases < cases_asked; }
};

struct ReplayOptions {
  uint64_t repeats = 1;  // of every combination of n, hosted nodes, degree share and epsilon, with other lists
  std::optional<Mechanism> mechanism;  // the combinations of this one alone; absent: all
  bool progress = false;
  const std::atomic<bool>* stop = nullptr;  // becomes true: judge what is there
};

// The combinations: n = 3, 4, 63, 64, 65, 1,000; a single node, a gateway, a gateway with retired nodes (the node
// itself among them); degree shares 0, 10^-6, a round's, 1; epsilon 10^-6, 1, 8, 50; reports of both ends, of one end,
// and about groups (instead of the degree shares 1, 2, 7 and up to 1,000 random groups). Lists are drawn at random:
// empty, of a few links, of half of all, and full. Works in a new folder below that of temporary files, and removes it.
//
// Returns an error when files cannot be written, or when a process cannot be run at all.
absl::StatusOr<ReplayAudit> AuditReplay(const ReplayOptions& options, const NodeProcess& process);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_REPLAY_H_
