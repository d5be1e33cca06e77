// The memory of a node: what it drew, what it spent, what it answered. A node without its journal must not report.
//
//   DIR/journal.blj   append-only; DIR/journal.lock is held while a process may write
//
// Life of one report:   StageEpoch / StageDraw / StageRound -> Commit (written, fsynced, debited) -> only now sent
//                       LoadReport -> the same bytes, after any retry, reconnect or restart
//
// File: 8 bytes of magic, then records. A record is [length u32][header check u32][payload][checksum 16 bytes]; header check
// and checksum are SHA-256, chained over everything before, so that a flipped bit or a removed record anywhere is found.
// Payloads: INIT, EPOCH (with a snapshot of the lists), DRAW (with the report's bytes; it is the debit), ROUND (binds a
// round to the draws that answer it), RECEIPT, CLOCK (the clock never runs back), OVER (nothing more to do for a round). All
// integers little endian.
//
// Opening verifies every record. A last record that the file ends within was never sent (its append did not return):
// it is cut off, with a line in the log. Any other damage is a refusal, never a reset; so are a missing file and the journal of
// another deployment, range or n. Not detected: an older copy put in the journal's place. Never restore one.
//
// Memory: 48 bytes a draw; the coded bits stay on the disk. Not thread-safe.
#ifndef BLINK_NODE_CLIENT_JOURNAL_H_
#define BLINK_NODE_CLIENT_JOURNAL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/graph/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/wire/report_codec.h"
#include "node_client/adjacency.h"
#include "node_client/ledger.h"

namespace blink {

struct JournalIdentity {
  std::string deployment;
  NodeIndex first_node = 0;  // inclusive
  NodeIndex last_node = 0;   // inclusive
  uint32_t node_count = 0;   // n
  uint64_t roster_version = 0;  // as of the creation; a later roster may use the same journal
  uint32_t hosted() const { return last_node - first_node + 1; }
};

// The only way in which a journal comes into being: `blink-node init` and `blink provision simulate` call it. Makes the
// folder when needed. ALREADY_EXISTS when there is a journal; nothing is touched then.
absl::Status CreateJournal(const std::string& folder, const JournalIdentity& identity);

class Journal final : public Ledger {
 public:
  // NOT_FOUND: missing. ABORTED: held by another process. DATA_LOSS: damaged. FAILED_PRECONDITION: of another deployment, range
  // or n.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& folder, const JournalIdentity& identity);
  // For `account`: without the lock, beside a running process; a torn end is ignored, nothing can be staged.
  static absl::StatusOr<std::unique_ptr<Journal>> OpenReadOnly(const std::string& folder, const JournalIdentity& identity);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Ledger.
  std::optional<Epoch> epoch() const override { return epoch_; }
  std::optional<BoundRound> RoundBinding(const std::string& round_id) const override;
  uint32_t RoundsOfEpoch(uint32_t epoch) const override;
  std::optional<uint64_t> SpentMicroMaxWithoutDraw(uint32_t epoch, const PrivacyParameters& parameters) const override;

  // The lists as they were when the current epoch began; draws use these, whatever the kit says now.
  const AdjacencyLists& snapshot() const { return snapshot_; }
  // The digest of a draw; nothing when the node has no such draw.
  std::optional<Digest> FindDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const;
  // The report as drawn, read from the disk and checked against its digest. NOT_FOUND without such a draw.
  absl::StatusOr<CodedReport> LoadReport(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const;
  bool HasReceipt(const std::string& round_id, NodeIndex node) const;
  // Rounds that were answered and not seen to their end.
  std::vector<std::string> UnfinishedRounds() const;
  bool RoundIsOver(const std::string& round_id) const;
  // The later of `wall` and the highest time that the journal holds.
  absl::Time MonotoneNow(absl::Time wall) const { return std::max(wall, clock_); }

  // Accounting.
  uint64_t draws() const { return draws_; }
  uint64_t receipts() const { return receipts_; }
  uint64_t rounds() const { return rounds_.size(); }
  uint64_t SpentMicro(NodeIndex node) const { return spent_micro_[node - identity_.first_node]; }
  uint64_t SpentMicroMax() const;
  const JournalIdentity& identity() const { return identity_; }

  // Staged records become true together, at Commit; before it nothing of them can be seen.
  void StageEpoch(uint32_t index, absl::Time start, const AdjacencyLists& lists);
  void StageDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node, const CodedReport& report);
  void StageRound(const std::string& round_id, uint32_t epoch, const PrivacyParameters& parameters);
  void StageReceipt(const std::string& round_id, NodeIndex node, const Digest& digest, int64_t received_minute);
  void StageRoundOver(const std::string& round_id);
  void StageClock(absl::Time now);
  uint64_t staged_bytes() const { return staged_.size(); }
  // Written and fsynced when this returns OK. Otherwise nothing was staged (RESOURCE_EXHAUSTED: disk full), and after a failed
  // fsync, which leaves the state of the disk unknown, the journal refuses everything: open it again.
  absl::Status Commit();
  void DiscardStaged();

 private:
  struct Draw {
    uint64_t coded_offset = 0;  // in the file; 0: no draw
    uint32_t coded_bytes = 0;
    bool has_degree = false;
    int64_t noisy_degree = 0;
    Digest digest{};
  };
  struct DrawSet {
    uint32_t epoch;
    PrivacyParameters parameters;
    uint32_t drawn = 0;
    std::vector<Draw> draws;  // [hosted]
  };
  struct RoundRecord {
    BoundRound bound;
    std::vector<bool> receipted;  // [hosted], or empty
    bool over = false;
  };

  Journal(std::string path, int fd, std::optional<FileLock> lock, bool writable);
  static absl::StatusOr<std::unique_ptr<Journal>> OpenFile(const std::string& folder, const JournalIdentity& identity,
                                                           bool writable);
  absl::Status Scan(const JournalIdentity& expected);
  absl::Status ReadAt(uint64_t offset, size_t bytes, std::string* out) const;
  absl::Status Damaged(uint64_t offset, absl::string_view what) const;
  // Takes one payload, which begins at `offset` of the file, into the index. DATA_LOSS when it makes no sense.
  absl::Status Apply(absl::string_view payload, uint64_t offset);
  absl::Status ApplyEpoch(absl::string_view fields);
  absl::Status ApplyDraw(absl::string_view fields, uint64_t offset);
  DrawSet* FindSet(uint32_t epoch, const PrivacyParameters& parameters) const;
  void Stage(absl::string_view payload);

  const std::string path_;
  const int fd_;
  const std::optional<FileLock> lock_;
  const bool writable_;
  bool broken_ = false;
  uint64_t size_ = 0;         // bytes that are committed
  Digest chain_{};            // over the committed records
  std::string staged_;
  Digest staged_chain_{};
  std::vector<std::pair<uint64_t, uint64_t>> staged_payloads_;  // offset in staged_, bytes

  JournalIdentity identity_;
  bool initialised_ = false;
  std::optional<Epoch> epoch_;
  AdjacencyLists snapshot_;
  mutable std::deque<DrawSet> sets_;
  std::map<std::string, RoundRecord> rounds_;
  std::vector<uint64_t> spent_micro_;  // [hosted]
  absl::Time clock_ = absl::InfinitePast();
  uint64_t draws_ = 0;
  uint64_t receipts_ = 0;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_JOURNAL_H_
