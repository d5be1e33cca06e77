#include "aggregator_server/store/report_batch.h"

#include <utility>

#include "aggregator_server/store/report_answers.h"
#include "common/base/status_macros.h"

namespace blink {

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
    return done(RefuseNode(report.node));
  }
  const std::string key = records::DigestKey(report.round_id, report.node);
  if (entry.reported.Test(static_cast<uint32_t>(report.node))) return done(AnswerFromHeld(entry, report, key));
  if (entry.round.state() != v1::ROUND_STATE_OPEN) {
    return done(RefuseLate(report, entry.round.state()));
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
