// The memory of a node: what it drew, what it spent, what it answered. A node without its journal must not report.
//
//   DIR/journal.blj   append-only; it and DIR/journal.lock are locked while a process may write
//
// Life of one report:   StageEpoch / StageDraw / StageRound -> Commit (written, fsynced, debited) -> only now sent
//                       LoadReport -> the same bytes, after any retry, reconnect or restart
//
// File: 8 bytes of magic, then records. A record is [length u32][header check u32][payload][checksum 16 bytes]; header
// check and checksum are SHA-256, chained over everything before, so that a flipped bit or a removed record anywhere is
// found. Payloads: INIT (deployment, range, roster, a random identity, whether there is an anchor), EPOCH (with a
// snapshot of the lists), DRAW (with the report's bytes; it is the debit), ROUND (binds a round to the draws that
// answer it), RECEIPT, CLOCK (the clock never runs back), OVER (nothing more to do for a round), ROSTER (a newer kit),
// ANCHORED (an anchor from here on). All integers little endian. What they mean together: journal_index.h.
//
// Opening verifies every record. A last record that the file ends within was never sent (its append did not return):
// it is cut off, with a line in the log. Any other damage is a refusal, never a reset; so are a missing file and the
// journal of another deployment or range. An older copy put in the journal's place is found where there is an anchor
// (anchor.h), and otherwise only if the aggregator still knows more than the journal (agent.h).
//
// Rosters: a kit with a newer roster version and the same or a larger n works with the journal, which remembers it;
// going back to an older one is refused. What was spent stays spent, and the epoch's snapshot stays.
//
// Not thread-safe.
#ifndef BLINK_NODE_CLIENT_JOURNAL_H_
#define BLINK_NODE_CLIENT_JOURNAL_H_

#include <cstdint>
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
#include "common/base/exit_code.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/wire/report_codec.h"
#include "node_client/adjacency.h"
#include "node_client/anchor.h"
#include "node_client/journal_index.h"

namespace blink {

// The only way in which a journal comes into being: `blink-node init` and `blink provision simulate` call it. Makes the
// folder when needed, then the anchor where a path is given. ALREADY_EXISTS when there is a journal or an anchor;
// nothing is touched then.
absl::Status CreateJournal(const std::string& folder, const JournalIdentity& identity,
                           const std::string& anchor_path = "");

// Gives an existing journal an anchor. FAILED_PRECONDITION when it has one already, ALREADY_EXISTS when the file
// exists, unless `replace`: then the caller vouches that the journal is the latest, and only the anchor of another
// journal, and the journal itself, are not overwritten.
absl::Status AnchorJournal(const std::string& folder, const JournalIdentity& identity, const std::string& anchor_path,
                           bool replace);

// What hinders a journal ends with its own code, a lack of disk or files with that.
inline ExitCode JournalExitCode(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? ExitCode::kNoResources : ExitCode::kJournal;
}

class Journal final : public JournalIndex {
 public:
  // NOT_FOUND: missing journal or anchor. ABORTED: held by another process. DATA_LOSS: journal or anchor damaged, or an
  // older copy of the journal. FAILED_PRECONDITION: of another deployment or range, with an older or smaller roster, or
  // of another format; an anchor that the journal does not have, or none where it has one.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& folder, const JournalIdentity& identity,
                                                       const std::string& anchor_path = "");
  // For `account`: without the lock, beside a running process; a torn end is ignored, nothing can be staged, any roster
  // will do, and the anchor is looked at only where one is given.
  static absl::StatusOr<std::unique_ptr<Journal>> OpenReadOnly(const std::string& folder,
                                                               const JournalIdentity& identity,
                                                               const std::string& anchor_path = "");
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The report as drawn, read from the disk and checked against its digest. NOT_FOUND without such a draw.
  absl::StatusOr<CodedReport> LoadReport(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const;

  // Staged records become true together, at Commit; before it nothing of them can be seen.
  void StageEpoch(uint32_t index, absl::Time start, const AdjacencyLists& lists);
  void StageDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node, const CodedReport& report);
  void StageRound(const std::string& round_id, uint32_t epoch, const PrivacyParameters& parameters);
  void StageReceipt(const std::string& round_id, NodeIndex node, const Digest& digest, int64_t received_minute);
  void StageRoundOver(const std::string& round_id);
  void StageClock(absl::Time now);
  uint64_t staged_bytes() const { return staged_.size(); }
  // Written and fsynced, journal first and anchor second, when this returns OK. Otherwise nothing was staged
  // (RESOURCE_EXHAUSTED: disk full); and after a failed fsync, which leaves the state of the disk unknown, or a failed
  // anchor, the journal refuses everything: open it again.
  absl::Status Commit();
  void DiscardStaged();

 private:
  friend absl::Status AnchorJournal(const std::string&, const JournalIdentity&, const std::string&, bool);
  enum class Mode { kReadOnly, kWritable, kReanchor };  // the last: whatever became of the anchor

  Journal(std::string path, int fd, std::optional<FileLock> lock, Mode mode, std::string anchor_path);
  static absl::StatusOr<std::unique_ptr<Journal>> OpenFile(const std::string& folder, const JournalIdentity& identity,
                                                           Mode mode, const std::string& anchor_path);
  absl::Status CheckFits(const JournalIdentity& kit) const;
  absl::Status TakeRoster(const JournalIdentity& kit);
  absl::Status CheckAnchor(bool contained, const Anchor& anchor) const;
  absl::Status Scan(const JournalIdentity& kit);
  // The record at size_ of a file of `end` bytes. OK and false: the file ends within it.
  absl::StatusOr<bool> ScanRecord(uint64_t end);
  absl::Status MakeSound(uint64_t end);  // cuts off a torn end; all that is read is durable
  absl::Status WriteOut();
  // it is what this process left or found: no copy of the journal is in use elsewhere
  absl::Status CheckAnchorIsOurs() const;
  absl::Status MoveAnchor();
  absl::Status ReadAt(uint64_t offset, size_t bytes, std::string* out) const;
  absl::Status Damaged(uint64_t offset, absl::string_view what) const;
  void Stage(absl::string_view payload);

  const std::string path_;
  const int fd_;
  const std::optional<FileLock> lock_;
  const Mode mode_;
  const std::string anchor_path_;  // empty: none
  bool broken_ = false;
  uint64_t size_ = 0;  // bytes that are committed
  Digest chain_{};     // over the committed records
  Anchor anchor_;      // as it was last read or written
  std::string staged_;
  Digest staged_chain_{};
  std::vector<std::pair<uint64_t, uint64_t>> staged_payloads_;  // offset in staged_, bytes
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_JOURNAL_H_
