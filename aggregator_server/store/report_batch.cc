#include "aggregator_server/store/report_batch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {
namespace {

absl::Status RefuseAnother(const CheckedReport& report) {
  return absl::AlreadyExistsError(absl::StrCat("another report of node ", report.node, " is held for round ",
                                               report.round_id,
                                               "; the first one is kept. Either another machine uses this node's "
                                               "key, or this node lost its journal and drew again"));
}

v1::Receipt MakeReceipt(const CheckedReport& report, int64_t received_minute) {
  v1::Receipt receipt;
  receipt.set_round_id(report.round_id);
  receipt.set_node_id(report.node);
  receipt.set_digest(DigestToBytes(report.report.digest));
  receipt.set_received_minute(received_minute);
  return receipt;
}

}  // namespace

v1::Round RoundEntry::MakeSnapshot() const {
  v1::Round snapshot = round;
  snapshot.set_reports(reports);
  snapshot.set_flagged(flagged);
  return snapshot;
}

absl::StatusOr<records::DigestRecord> ReadDigest(SyncedDb& db, const std::string& key) {
  std::string value;
  BLINK_RETURN_IF_ERROR(FromRocksDb(db.Get(key, &value), "read a digest"));
  return records::DecodeDigest(value);
}

void ReportBatch::Add(RoundEntry& entry, CheckedReport report, ReportStore::PutCallback done) {
  if (report.node >= entry.reported.size()) {
    return done(absl::InvalidArgumentError(absl::StrCat("node ", report.node, " is not below n")));
  }
  const std::string key = records::DigestKey(report.round_id, report.node);
  if (entry.reported.Test(static_cast<uint32_t>(report.node))) return done(AnswerFromHeld(entry, report, key));
  if (entry.round.state() != v1::ROUND_STATE_OPEN) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("round ", report.round_id, " is ", RoundStateName(entry.round.state()),
                     ": it accepts no further report, and none of node ", report.node, " is held")));
  }
  PutOutcome outcome = {.receipt = MakeReceipt(report, report.received_minute), .fresh = true};
  const auto [gathered, is_new] = fresh_of_key_.try_emplace(key, fresh_.size());
  if (!is_new) {
    const Gathered& first = fresh_[gathered->second];
    if (first.outcome.receipt.digest() != outcome.receipt.digest()) return done(RefuseAnother(report));
    again_.push_back({&entry, report.node, report.implausible, first.outcome, std::move(done)});
    return;
  }
  writes_.Put(key, records::EncodeDigest({report.report.digest, report.received_minute, report.implausible}));
  writes_.Put(records::ReportKey(report.round_id, report.node), records::EncodeReportRecord(report.report));
  fresh_.push_back({&entry, report.node, report.implausible, std::move(outcome), std::move(done)});
}

absl::StatusOr<PutOutcome> ReportBatch::AnswerFromHeld(const RoundEntry& entry, const CheckedReport& report,
                                                       const std::string& key) const {
  BLINK_ASSIGN_OR_RETURN(const records::DigestRecord held, ReadDigest(*db_, key));
  if (held.digest != report.report.digest) return RefuseAnother(report);
  return PutOutcome{.receipt = MakeReceipt(report, held.received_minute), .fresh = false, .reports = entry.reports};
}

void ReportBatch::CountReports() {
  for (Gathered& gathered : fresh_) {
    gathered.entry->reported.Set(static_cast<uint32_t>(gathered.node));
    gathered.outcome.reports = ++gathered.entry->reports;
    gathered.entry->flagged += gathered.implausible;
  }
}

void ReportBatch::Answer(const absl::Status& written) {
  // A status of its own for everyone: the count of a shared one is kept in Abseil's library, where TSan cannot see it.
  const auto failure = [&] { return absl::Status(written.code(), written.message()); };
  for (Gathered& gathered : fresh_) {
    written.ok() ? gathered.done(std::move(gathered.outcome)) : gathered.done(failure());
  }
  for (Gathered& gathered : again_) {
    gathered.outcome.fresh = false;
    gathered.outcome.reports = gathered.entry->reports;
    written.ok() ? gathered.done(std::move(gathered.outcome)) : gathered.done(failure());
  }
  *this = ReportBatch(*db_);
}

}  // namespace blink
