// `blink-node account`: what was drawn, spent and acknowledged, and what is left. It is made from the journal and the
// policy alone, and says nothing about a list.
//
// All amounts are integers. Promised amounts are millionths of epsilon. Achieved amounts are billionths, rounded up:
// the flip probability p' that is really used costs at most the promised epsilon.
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
  // The cost for one entry of one list. An undirected link is an entry of two lists, and costs twice as much when both
  // ends report; under Mechanism::kOneEnd one of them does, and under kGroupDegrees both.
  struct Spent {
    uint64_t promised_micro = 0;
    uint64_t achieved_nano = 0;  // rounded up, at most promised_micro * 1000
    uint64_t link_micro = 0;     // what was promised for an undirected link
  };
  struct Round {
    std::string round_id;
    uint32_t epoch;
    PrivacyParameters parameters;
    bool again;             // answered with the bytes of an earlier round, so nothing was debited
    uint32_t receipts = 0;  // of the nodes of this account
    bool over;
  };
  struct Epoch {
    uint32_t index;
    absl::Time started;
    uint64_t draws = 0;
    Spent largest;  // the most that a node of this account spent
  };

  KitConfig kit;
  NodePolicy policy;
  JournalIdentity journal;
  std::optional<NodeIndex> node;  // the account of this node alone; otherwise of all that the kit hosts
  std::string anchor;             // "none", "not checked" or "agrees"
  std::vector<Round> rounds;      // in the order in which they were answered
  std::vector<Epoch> epochs;
  uint64_t draws = 0;
  uint64_t receipts = 0;
  Spent largest;  // over all epochs, by the node that spent most

  uint32_t nodes() const { return node.has_value() ? 1 : journal.hosted(); }
  // What is left of the lifetime budget of the node that spent most.
  uint64_t left_micro() const {
    return policy.epsilon_micro_lifetime_max - std::min(policy.epsilon_micro_lifetime_max, largest.promised_micro);
  }
};

// Makes the account of one node, which the kit must host, or of all. `anchor_checked` says whether the journal was
// opened with its anchor.
Account MakeAccount(const KitConfig& kit, const NodePolicy& policy, const JournalIndex& journal,
                    std::optional<NodeIndex> node, bool anchor_checked);

std::string AccountToText(const Account& account);  // for people, in lines of about 100 characters
std::string AccountToJson(const Account& account);  // one object, whose members docs/OPERATIONS.md names

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_ACCOUNT_H_
