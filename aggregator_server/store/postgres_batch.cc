#include "aggregator_server/store/postgres_batch.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/report_answers.h"
#include "common/base/digest.h"

namespace blink {
namespace {

// The text of an array, element by element.
class ArrayText {
 public:
  template <typename Value>
  void Add(const Value& value) {
    absl::StrAppend(&text_, text_.empty() ? "{" : ",", value);
  }
  std::string text() const { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace

int64_t RoundLock(const std::string& round_id) {
  const Digest digest = Sha256Of(round_id);
  int64_t key;
  std::memcpy(&key, digest.data(), sizeof(key));
  return key;
}

void PostgresBatch::Add(CheckedReport report, ReportStore::PutCallback done) {
  bytes_ += report.report.coded_bits.size() + 100;
  entries_.push_back({std::move(report), std::move(done)});
}

size_t PostgresBatch::fresh() const {
  return std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.is_fresh; });
}

absl::Status PostgresBatch::StoreIn(pqxx::connection& connection, bool is_unknown) {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.report.round_id, a.report.node) < std::tie(b.report.round_id, b.report.node);
  });
  for (Entry& entry : entries_) {
    entry.was_sent |= is_unknown && entry.is_first;
    entry.is_first = entry.is_inserted = entry.is_fresh = false;
    entry.round = nullptr;
  }
  rounds_.clear();
  held_.clear();
  pqxx::work transaction(connection);
  ReadRounds(transaction);
  Insert(transaction);
  ReadHeld(transaction);
  Count(transaction, is_unknown);
  transaction.commit();
  return absl::OkStatus();
}

void PostgresBatch::ReadRounds(pqxx::work& transaction) {
  std::set<int64_t> locks;
  ArrayText ids;
  for (const Entry& entry : entries_) {
    if (!rounds_.try_emplace(entry.report.round_id).second) continue;
    locks.insert(RoundLock(entry.report.round_id));
    ids.Add(absl::StrCat("\"", entry.report.round_id, "\""));
  }
  // A statement sees what was committed before it began. So the state is read by the one after the lock.
  for (const int64_t lock : locks) transaction.exec_params("SELECT pg_advisory_xact_lock_shared($1)", lock);
  const pqxx::result found = transaction.exec_params(
      "SELECT round_id, seq, nodes, state FROM blink.rounds WHERE round_id = ANY($1::text[])", ids.text());
  for (const pqxx::row& row : found) {
    OfRound& round = rounds_[row[0].as<std::string>()];
    round.seq = row[1].as<int64_t>();
    round.nodes = row[2].as<uint64_t>();
    round.state = static_cast<v1::RoundState>(row[3].as<int>());
  }
  for (Entry& entry : entries_) {
    const OfRound& round = rounds_.at(entry.report.round_id);
    if (round.seq != 0) entry.round = &round;
  }
}

void PostgresBatch::Insert(pqxx::work& transaction) {
  ArrayText seqs, nodes, minutes, implausible, degrees, offsets, lengths;
  std::string digests, bits;
  const Entry* before = nullptr;
  std::map<Key, Entry*> sent;
  for (Entry& entry : entries_) {
    const CheckedReport& report = entry.report;
    const bool is_again =
        before != nullptr && before->report.round_id == report.round_id && before->report.node == report.node;
    before = &entry;
    if (is_again || entry.round == nullptr || report.node >= entry.round->nodes ||
        entry.round->state != v1::ROUND_STATE_OPEN) {
      continue;
    }
    entry.is_first = true;
    sent[{entry.round->seq, report.node}] = &entry;
    seqs.Add(entry.round->seq);
    nodes.Add(report.node);
    minutes.Add(report.received_minute);
    implausible.Add(report.implausible ? "t" : "f");
    report.report.noisy_degree.has_value() ? degrees.Add(*report.report.noisy_degree) : degrees.Add("NULL");
    offsets.Add(bits.size() + 1);
    lengths.Add(report.report.coded_bits.size());
    digests += DigestToBytes(report.report.digest);
    bits += report.report.coded_bits;
  }
  if (sent.empty()) return;
  const pqxx::result inserted = transaction.exec_params(
      "INSERT INTO blink.reports (round, node, received_minute, implausible, degree, digest, bits) "
      "SELECT r.round, r.node, r.minute, r.implausible, r.degree, "
      "substr($8::bytea, (32 * (r.at - 1) + 1)::int, 32), substr($9::bytea, r.first, r.length) "
      "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bigint[], $6::int[], $7::int[]) "
      "WITH ORDINALITY AS r (round, node, minute, implausible, degree, first, length, at) "
      "ON CONFLICT (round, node) DO NOTHING RETURNING round, node",
      seqs.text(), nodes.text(), minutes.text(), implausible.text(), degrees.text(), offsets.text(), lengths.text(),
      pqxx::binarystring(digests), pqxx::binarystring(bits));
  for (const pqxx::row& row : inserted) {
    const Key key = {row[0].as<int64_t>(), row[1].as<uint64_t>()};
    Entry& entry = *sent.at(key);
    entry.is_inserted = entry.is_fresh = true;
    held_[key] = {DigestToBytes(entry.report.report.digest), entry.report.received_minute};
  }
}

void PostgresBatch::ReadHeld(pqxx::work& transaction) {
  ArrayText seqs, nodes;
  for (const Entry& entry : entries_) {
    if (entry.round == nullptr || held_.count({entry.round->seq, entry.report.node}) > 0) continue;
    seqs.Add(entry.round->seq);
    nodes.Add(entry.report.node);
  }
  if (seqs.text() == "{}") return;
  const pqxx::result found = transaction.exec_params(
      "SELECT round, node, digest, received_minute FROM blink.reports "
      "JOIN unnest($1::bigint[], $2::bigint[]) AS k (round, node) USING (round, node)",
      seqs.text(), nodes.text());
  for (const pqxx::row& row : found) {
    held_[{row[0].as<int64_t>(), row[1].as<uint64_t>()}] = {pqxx::binarystring(row[2]).str(), row[3].as<int64_t>()};
  }
  for (Entry& entry : entries_) {  // that an earlier try has inserted after all
    if (!entry.was_sent || !entry.is_first || entry.is_fresh) continue;
    const auto held = held_.find({entry.round->seq, entry.report.node});
    entry.is_fresh = held != held_.end() && held->second.digest == DigestToBytes(entry.report.report.digest) &&
                     held->second.received_minute == entry.report.received_minute;
  }
}

void PostgresBatch::Count(pqxx::work& transaction, bool is_unknown) {
  std::map<int64_t, std::pair<uint64_t, uint64_t>> added;  // reports and flagged, by round
  for (const Entry& entry : entries_) {
    if (entry.round == nullptr) continue;
    // After a try of which nothing is known, this writes even if it adds nothing. The commit then waits for the
    // standby, and with it for the earlier one.
    if (is_unknown) added[entry.round->seq];
    if (!entry.is_inserted) continue;
    auto& [reports, flagged] = added[entry.round->seq];
    ++reports;
    flagged += entry.report.implausible;
  }
  for (const auto& [seq, counts] : added) {
    transaction.exec_params(
        "INSERT INTO blink.report_counts AS c (round, writer, reports, flagged) VALUES ($1, $2, $3, $4) "
        "ON CONFLICT (round, writer) DO UPDATE SET reports = c.reports + excluded.reports, "
        "flagged = c.flagged + excluded.flagged",
        seq, writer_, counts.first, counts.second);
  }
  ArrayText seqs;
  for (const auto& [round_id, round] : rounds_) seqs.Add(round.seq);
  const pqxx::result sums = transaction.exec_params(
      "SELECT round, sum(reports)::bigint FROM blink.report_counts WHERE round = ANY($1::bigint[]) GROUP BY round",
      seqs.text());
  for (const pqxx::row& row : sums) {
    for (auto& [round_id, round] : rounds_) {
      if (round.seq == row[0].as<int64_t>()) round.reports = row[1].as<uint32_t>();
    }
  }
}

absl::StatusOr<PutOutcome> PostgresBatch::OutcomeOf(const Entry& entry) const {
  const CheckedReport& report = entry.report;
  if (entry.round == nullptr) return NoSuchRound(report.round_id);
  if (report.node >= entry.round->nodes) return RefuseNode(report.node);
  const auto held = held_.find({entry.round->seq, report.node});
  if (held == held_.end()) return RefuseLate(report, entry.round->state);
  if (held->second.digest != DigestToBytes(report.report.digest)) return RefuseAnother(report);
  return PutOutcome{.receipt = MakeReceipt(report, held->second.received_minute),
                    .fresh = entry.is_fresh,
                    .reports = entry.round->reports};
}

void PostgresBatch::Answer(const absl::Status& stored) {
  for (Entry& entry : entries_) {
    // A status of its own for everyone: see ReportBatch::Answer.
    stored.ok() ? entry.done(OutcomeOf(entry)) : entry.done(absl::Status(stored.code(), stored.message()));
  }
  *this = PostgresBatch(writer_);
}

}  // namespace blink
