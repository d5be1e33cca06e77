// `blink-node account`: what was drawn, spent and acknowledged, and what is left. Made from journal and policy alone;
// says nothing about a list. All amounts are integers: millionths of epsilon as promised, and billionths, rounded up,
// as achieved, since the flip probability p' that is really used is a rational and costs at most the promised epsilon.
#ifndef BLINK_NODE_CLIENT_ACCOUNT_H_
#define BLINK_NODE_CLIENT_ACCOUNT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "node_client/journal_index.h"
#include "node_client/kit.h"
#include "node_client/policy_file.h"

namespace blink {

struct Account {
  // For one entry of one list. An undirected link stands in two lists: it costs twice that if both ends report.
  struct Spent {
    uint64_t promised_micro = 0;
    uint64_t achieved_nano = 0;  // rounded up, at most promised_micro * 1000
    uint64_t link_micro() const { return 2 * promised_micro; }
  };
  struct Round {
    std::string round_id;
    uint32_t epoch;
    PrivacyParameters parameters;
    bool again;             // the bytes of an earlier round: nothing was debited
    uint32_t receipts = 0;  // of the nodes of this account
    bool over;
  };
  struct Epoch {
    uint32_t index;
    absl::Time started;
    uint64_t draws = 0;
    Spent largest;  // by a node of this account
  };

  KitConfig kit;
  NodePolicy policy;
  JournalIdentity journal;
  std::optional<NodeIndex> node;  // of this node alone; otherwise of all that the kit hosts
  std::string anchor;             // "none", "not checked" or "agrees"
  std::vector<Round> rounds;      // in the order in which they were answered
  std::vector<Epoch> epochs;
  uint64_t draws = 0;
  uint64_t receipts = 0;
  Spent largest;  // over all epochs, by the node that spent most

  uint32_t nodes() const { return node.has_value() ? 1 : journal.hosted(); }
  // Of the lifetime budget, for the node that spent most.
  uint64_t left_micro() const {
    return policy.epsilon_micro_lifetime_max - std::min(policy.epsilon_micro_lifetime_max, largest.promised_micro);
  }
};

// `node`, where given, must be hosted. `anchor_checked`: the journal was opened with its anchor.
Account MakeAccount(const KitConfig& kit, const NodePolicy& policy, const JournalIndex& journal,
                    std::optional<NodeIndex> node, bool anchor_checked);

std::string AccountToText(const Account& account);  // for people; lines of about 100 characters
std::string AccountToJson(const Account& account);  // one object; docs/OPERATIONS.md names its members

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_ACCOUNT_H_
