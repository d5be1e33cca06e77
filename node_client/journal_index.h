// The content of a journal in memory: draws, debits, rounds, receipts, the epoch's snapshot and the roster.
//
// The file (journal.h) is replayed record by record. A record that makes no sense after those before it is refused.
// Each draw takes 48 bytes of memory, since the coded bits stay on the disk. Not thread-safe.
#ifndef BLINK_NODE_CLIENT_JOURNAL_INDEX_H_
#define BLINK_NODE_CLIENT_JOURNAL_INDEX_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "node_client/adjacency.h"
#include "node_client/anchor.h"
#include "node_client/ledger.h"

namespace blink {

struct JournalIdentity {
  std::string deployment;
  NodeIndex first_node = 0;     // inclusive
  NodeIndex last_node = 0;      // inclusive
  uint32_t node_count = 0;      // n of the latest roster that the journal has seen
  uint64_t roster_version = 0;  // of that roster
  uint32_t hosted() const { return last_node - first_node + 1; }
};

class JournalIndex : public Ledger {
 public:
  // Ledger.
  std::optional<Epoch> epoch() const override;
  std::optional<BoundRound> RoundBinding(const std::string& round_id) const override;
  uint32_t hosted() const override { return identity_.hosted(); }
  uint32_t RoundsOfEpoch(uint32_t epoch) const override;
  uint32_t OtherParametersOfEpoch(uint32_t epoch, const PrivacyParameters& parameters) const override;
  std::optional<uint64_t> SpentMicroMaxWithoutDraw(uint32_t epoch, const PrivacyParameters& parameters) const override;

  const JournalIdentity& identity() const { return identity_; }
  const JournalId& id() const { return id_; }
  bool anchored() const { return anchored_; }  // if so, it must not be opened without its anchor
  // The lists as they were when the current epoch began. Draws use these, whatever the kit says now.
  const AdjacencyLists& snapshot() const { return snapshot_; }
  // The digest of a draw, or nothing when the node has no such draw.
  std::optional<Digest> FindDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const;
  bool HasReceipt(const std::string& round_id, NodeIndex node) const;
  // The rounds that were answered, and whose end was not seen.
  std::vector<std::string> UnfinishedRounds() const;
  bool RoundIsOver(const std::string& round_id) const;
  // The later of `wall` and the highest time that the journal holds.
  absl::Time MonotoneNow(absl::Time wall) const { return std::max(wall, clock_); }

  // Accounting. Sums cannot overflow: a record that would lift one above kEpsilonMicroLifetimeMax counts as damage.
  struct AnsweredRound {
    std::string round_id;
    BoundRound bound;
    bool again = false;  // answered with the bytes of an earlier round, at no cost
    bool over = false;   // nothing more to do for it
  };
  struct DrawKind {
    uint32_t epoch;
    PrivacyParameters parameters;
  };
  uint64_t draws() const { return draws_; }
  uint64_t receipts() const { return receipts_; }
  uint64_t rounds() const { return rounds_.size(); }
  uint64_t SpentMicro(NodeIndex node) const { return spent_micro_[node - identity_.first_node]; }
  uint64_t SpentMicroMax() const;
  const std::vector<Epoch>& epochs() const { return epochs_; }
  std::vector<AnsweredRound> AnsweredRounds() const;    // in the order in which they were answered
  std::vector<DrawKind> DrawsOf(NodeIndex node) const;  // each of them was debited
  bool Hosts(NodeIndex node) const { return identity_.first_node <= node && node <= identity_.last_node; }

 protected:
  struct Draw {
    uint64_t coded_offset = 0;  // in the file; 0: no draw
    uint32_t coded_bytes = 0;
    bool has_degree = false;
    int64_t noisy_degree = 0;
    Digest digest{};
  };

  JournalIndex() = default;
  // Takes one payload, which begins at `offset` of the file, into the index. Returns DATA_LOSS, with the reason, when
  // it makes no sense.
  absl::Status ApplyRecord(absl::string_view payload, uint64_t offset);
  bool initialised() const { return initialised_; }
  const Draw* DrawAt(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const;  // null: no such draw

 private:
  struct DrawSet {
    uint32_t epoch;
    PrivacyParameters parameters;
    uint32_t drawn = 0;
    std::vector<Draw> draws;  // [hosted]
  };
  struct RoundRecord {
    BoundRound bound;
    uint64_t number;              // 0, 1, ... as they were answered
    std::vector<bool> receipted;  // [hosted], or empty
    bool over = false;
  };

  absl::Status ApplyInit(absl::string_view fields);
  absl::Status ApplyRoster(absl::string_view fields);
  absl::Status ApplyEpoch(absl::string_view fields);
  absl::Status ApplyDraw(absl::string_view fields, uint64_t offset);
  absl::Status ApplyRound(absl::string_view fields);
  absl::Status ApplyReceipt(absl::string_view fields);
  DrawSet* FindSet(uint32_t epoch, const PrivacyParameters& parameters) const;

  JournalIdentity identity_;
  JournalId id_{};
  bool initialised_ = false;
  bool anchored_ = false;
  std::vector<Epoch> epochs_;
  AdjacencyLists snapshot_;
  mutable std::deque<DrawSet> sets_;
  std::map<std::string, RoundRecord> rounds_;
  std::vector<uint64_t> spent_micro_;  // [hosted]
  absl::Time clock_ = absl::InfinitePast();
  uint64_t draws_ = 0;
  uint64_t receipts_ = 0;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_JOURNAL_INDEX_H_
