// The memory of a node: what it drew, what it spent, and what it answered. A node without its journal must not report.
//
//   DIR/journal.blj   append-only; it and DIR/journal.lock are locked while a process may write
//
// Life of one report:   StageEpoch / StageDraw / StageRound -> Commit (written, fsynced, debited) -> only now sent
//                       LoadReport -> the same bytes, after any retry, reconnect or restart
//
// The file is 8 bytes of magic and then records, [length u32][header check u32][payload][checksum 16 bytes]. Header
// check and checksum are SHA-256, chained over everything before. So a flipped bit or a removed record is found
// anywhere. All integers are little endian. The payloads are:
//
//   INIT      deployment, range, roster, a random identity, and whether there is an anchor
//   EPOCH     the start of an epoch, with a snapshot of the lists
//   DRAW      a report's bytes; this record is the debit
//   ROUND     binds a round to the draws that answer it
//   RECEIPT   the aggregator's receipt for a report
//   CLOCK     the time, so that the journal's clock never runs back
//   OVER      nothing more is to be done for a round
//   ROSTER    the roster of a newer kit
//   ANCHORED  from here on the journal has an anchor
//
// journal_index.h says what they mean together.
//
// Opening verifies every record. The file may end within its last record. Then the append did not return, so nothing of
// that record was sent; it is cut off, with a line in the log. Any other damage is refused and never repaired. A
// missing file and the journal of another deployment or range are refused as well. An older copy in the journal's place
// is found with an anchor (anchor.h). Without one it is found only if the aggregator knows more than the journal
// (agent.h).
//
// A kit may have a newer roster version, with the same or a larger n. The journal then remembers that roster, and
// refuses older ones. What was spent stays spent, and the epoch's snapshot stays.
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

// Makes a journal. Only `blink-node init` and `blink provision simulate` call this; a journal comes into being in no
// other way. Makes the folder when needed, and the anchor when a path is given. Returns ALREADY_EXISTS, and touches
// nothing, when there is a journal or an anchor.
absl::Status CreateJournal(const std::string& folder, const JournalIdentity& identity,
                           const std::string& anchor_path = "");

// Gives an existing journal an anchor. Returns FAILED_PRECONDITION when it has one already, and ALREADY_EXISTS when the
// file exists. With `replace` neither is an error, and the caller vouches that the journal is the latest one. Even then
// neither the journal itself nor an anchor of another journal (ALREADY_EXISTS) or of another format
// (FAILED_PRECONDITION) is overwritten.
absl::Status AnchorJournal(const std::string& folder, const JournalIdentity& identity, const std::string& anchor_path,
                           bool replace);

// The exit code for an error of a journal: kNoResources when disk, memory or descriptors ran out, otherwise kJournal.
inline ExitCode JournalExitCode(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? ExitCode::kNoResources : ExitCode::kJournal;
}

class Journal final : public JournalIndex {
 public:
  // Opens a journal for `identity`. Errors:
  //   NOT_FOUND            the journal or the anchor is missing
  //   INVALID_ARGUMENT     the journal or the anchor is not a regular file
  //   ABORTED              another process holds the journal
  //   DATA_LOSS            journal or anchor is damaged, or the journal is an older copy
  //   FAILED_PRECONDITION  the journal is of another format, deployment or range; the roster is older or smaller than
  //                        the journal's; an anchor is given and the journal has none, or the other way round; the
  //                        anchor is of another format or another journal
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& folder, const JournalIdentity& identity,
                                                       const std::string& anchor_path = "");
  // For `account`: opens without the lock, beside a running process. A torn end is ignored, any roster will do, and the
  // anchor is checked only when one is given. Nothing can be staged.
  static absl::StatusOr<std::unique_ptr<Journal>> OpenReadOnly(const std::string& folder,
                                                               const JournalIdentity& identity,
                                                               const std::string& anchor_path = "");
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The report as it was drawn, read from the disk and checked against its digest. NOT_FOUND without such a draw.
  absl::StatusOr<CodedReport> LoadReport(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) const;

  // Staged records take effect together, at Commit. Nothing of them can be seen before.
  void StageEpoch(uint32_t index, absl::Time start, const AdjacencyLists& lists);
  void StageDraw(uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node, const CodedReport& report);
  void StageRound(const std::string& round_id, uint32_t epoch, const PrivacyParameters& parameters);
  void StageReceipt(const std::string& round_id, NodeIndex node, const Digest& digest, int64_t received_minute);
  void StageRoundOver(const std::string& round_id);
  void StageClock(absl::Time now);
  uint64_t staged_bytes() const { return staged_.size(); }
  // Writes and fsyncs what is staged: the journal first, and then the anchor. After an error nothing is staged any more
  // (RESOURCE_EXHAUSTED: the disk is full). After a failed fsync, which leaves the state of the disk unknown, and after
  // a failed anchor, the journal refuses everything. Then open it again.
  absl::Status Commit();
  void DiscardStaged();

 private:
  friend absl::Status AnchorJournal(const std::string&, const JournalIdentity&, const std::string&, bool);
  enum class Mode { kReadOnly, kWritable, kReanchor };  // kReanchor: whatever became of the anchor

  Journal(std::string path, int fd, std::optional<FileLock> lock, Mode mode, std::string anchor_path);
  static absl::StatusOr<std::unique_ptr<Journal>> OpenFile(const std::string& folder, const JournalIdentity& identity,
                                                           Mode mode, const std::string& anchor_path);
  absl::Status CheckFits(const JournalIdentity& kit) const;
  absl::Status TakeRoster(const JournalIdentity& kit);
  absl::Status CheckAnchor(bool contained, const Anchor& anchor) const;
  absl::Status ScanFile(const JournalIdentity& kit);
  // Reads the record at size_ of a file of `end` bytes. Returns false when the file ends within it.
  absl::StatusOr<bool> ScanRecord(uint64_t end);
  absl::Status MakeSound(uint64_t end);  // cuts off a torn end, and makes durable all that was read
  absl::Status WriteOut();
  // The anchor is as this process left or found it, so no copy of the journal is in use elsewhere.
  absl::Status CheckAnchorIsOurs() const;
  absl::Status MoveAnchor();
  absl::Status ReadAt(uint64_t offset, size_t bytes, std::string* out) const;
  absl::Status Damaged(uint64_t offset, absl::string_view what) const;
  void StagePayload(absl::string_view payload);

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
