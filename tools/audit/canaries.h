// Canary lists: lists whose entries were fair coins, for an audit of a real round in one run.
//
//   DIR/canaries.json            n, the canary nodes, and the seed of the coins; secret until the round is sealed
//   DIR/nodes-10-19/lists.csv    the lists of these nodes, in the form of a kit's
//
// This is the audit of Steinke, Nasr and Jagielski, "Privacy Auditing with One (1) Training Run" (2023). Each coin is
// in one list alone, so an epsilon-LDP report says little about it: whoever guesses coins from reports is right with
// probability at most e^epsilon / (1 + e^epsilon) each, whatever was right before. So the number of right guesses is at
// most binomial, for *every* mechanism that keeps its promise. No independence of the bits is assumed.
//
// The lists need not be symmetric: a node's report depends on its own list alone.
#ifndef BLINK_TOOLS_AUDIT_CANARIES_H_
#define BLINK_TOOLS_AUDIT_CANARIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/digest.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/random_source.h"
#include "common/wire/roster.h"

namespace blink {

struct Canaries {
  uint32_t node_count = 0;
  std::vector<NodeRange> nodes;  // ascending and disjoint
  uint32_t entries = 0;          // of each list, 1 .. n - 1: the coins; all others are 0
  Digest seed{};

  bool Has(NodeIndex node) const { return InRanges(nodes, node); }
  uint64_t coins() const { return CountNodes(nodes) * entries; }
  // The entry that coin t < `entries` of the node decides: the nodes after it, beginning anew after the last.
  NodeIndex EntryOf(NodeIndex node, uint32_t t) const {
    return static_cast<NodeIndex>((uint64_t{node} + 1 + t) % node_count);
  }
  // Coins 0 .. entries - 1 of the node: bits of SHA-256 over the seed, the node and a count.
  std::vector<bool> CoinsOf(NodeIndex node) const;
  // The entries whose coin is 1, ascending.
  std::vector<NodeIndex> ListOf(NodeIndex node) const;
};

// Draws the seed. `entries` 0: all. Returns INVALID_ARGUMENT when n, a range or `entries` is out of range, two ranges
// overlap, or there is no canary.
absl::StatusOr<Canaries> MakeCanaries(uint32_t node_count, std::vector<NodeRange> nodes, uint32_t entries,
                                      RandomSource& random);

std::string CanariesToJson(const Canaries& canaries);
// Reads canaries.json. INVALID_ARGUMENT names the key and its range.
absl::StatusOr<Canaries> ReadCanaries(const std::string& path);

// Writes canaries.json, and a list file for each of the ranges, which are the kits of the canary nodes. The folder
// appears when it is complete. Errors are those of Staging::Create (tools/new_folder.h) and of files.
absl::Status WriteCanaries(const Canaries& canaries, const std::vector<NodeRange>& kits, const std::string& folder);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_CANARIES_H_
