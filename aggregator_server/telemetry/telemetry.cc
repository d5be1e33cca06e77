#include "aggregator_server/telemetry/telemetry.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator_server/telemetry/process_stats.h"
#include "aggregator_server/transport/refusal_log.h"
#include "common/base/limits.h"
#include "common/base/program.h"
#include "common/wire/round.h"

namespace blink {
namespace {

using Samples = std::vector<MetricList::Sample>;

// Every code, also before the first refusal: a rate begins at zero then.
Samples ByCode(const CodeCounts::Counts& counts) {
  Samples samples;
  for (size_t code = 1; code < counts.size(); ++code) {
    samples.push_back(
        {{{"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}}, static_cast<double>(counts[code])});
  }
  return samples;
}

double UnixSeconds(absl::Time time) { return static_cast<double>(absl::ToUnixSeconds(time)); }

uint32_t CountActive(const v1::Round& round) {
  return round.active_nodes() > 0 ? round.active_nodes() : round.parameters().node_count();
}

}  // namespace

absl::Status Telemetry::CheckReady(const StoreProbe::Seen& store) const {
  if (stopping_) return absl::UnavailableError("the aggregator stops: it takes no new call");
  if (draining_) return absl::UnavailableError("the aggregator drains: it takes no new report or round");
  return store.can_store;
}

HttpResponse Telemetry::Answer(const std::string& path) {
  if (path == "/healthz") return {.body = "ok\n"};
  if (path == "/readyz") {
    const absl::Status ready = CheckReady();
    if (ready.ok()) return {.body = "ready\n"};
    return {.code = 503, .body = absl::StrCat("not ready: ", ready.message(), "\n")};
  }
  if (path == "/metrics") {
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = Collect().ToText()};
  }
  return {.code = 404, .body = "there is /metrics, /healthz and /readyz\n"};
}

MetricList Telemetry::Collect() {
  const StoreProbe::Seen store = probe_.Look();
  MetricList list;
  list.AddGauge("blink_build_info", "1; the labels say which program this is.",
                Samples{{{{"version", ProgramVersion()}, {"commit", ProgramCommit()}}, 1}});
  list.AddGauge("blink_ready", "1: the aggregator serves. 0: it stops, or its store takes no write.",
                CheckReady(store).ok() ? 1 : 0);
  AddReports(list);
  AddStore(list, store);
  AddRounds(list, store.rounds);
  AddWorker(list, sources_.pipeline.GetActivity());
  AddConnections(list);
  AddCertificates(list);
  AddAuditLog(list);
  AddProcess(list);
  return list;
}

void Telemetry::AddReports(MetricList& list) {
  const IngestActivity activity = sources_.ingest.GetActivity();
  list.AddCounter("blink_reports_accepted_total",
                  "Reports that were acknowledged: fresh ones, and repeated ones that were held already.",
                  Samples{{{{"kind", "fresh"}}, static_cast<double>(activity.fresh)},
                          {{{"kind", "repeated"}}, static_cast<double>(activity.repeated)}});
  list.AddCounter("blink_reports_refused_total", "Reports that were refused, by status code.",
                  ByCode(activity.refused));
  list.AddCounter("blink_report_bytes_total", "Coded bytes of all fresh reports together, in whole steps of 64 KiB.",
                  static_cast<double>(activity.bytes - activity.bytes % kBytesStep));
  list.AddGauge("blink_reports_in_flight", "Reports that are admitted and not yet acknowledged or refused.",
                sources_.ingest.reports_in_flight());
  list.AddGauge("blink_reports_in_flight_limit", "As many reports may be in flight; further ones are refused.",
                sources_.ingest.limits().reports_in_flight_max);
  list.AddCounter("blink_calls_refused_total",
                  "Calls of nodes and operators, and reports within calls, that were refused, by status code.",
                  ByCode(Refusals().counts()));
  list.AddGauge("blink_calls_in_flight", "Streams of nodes and operators that are open.",
                static_cast<double>(sources_.authenticator.streams().load()));
}

void Telemetry::AddStore(MetricList& list, const StoreProbe::Seen& store) {
  const StoreActivity activity = sources_.store.GetActivity();
  list.AddGauge("blink_store_writable",
                "1: a report could be stored now. 0: the disk is full, or the store is stuck or does not answer.",
                store.can_store.ok() ? 1 : 0);
  list.AddGauge("blink_store_answer_age_seconds",
                "Time since the store last told of its rounds: the metrics of rounds are as old.",
                absl::ToDoubleSeconds(store.age));
  list.AddGauge("blink_store_queue_changes", "Reports and changes of rounds that wait for the store.",
                static_cast<double>(activity.queued));
  list.AddCounter("blink_store_failed_writes_total", "Writes of the store that failed.",
                  static_cast<double>(activity.failed_writes));
  list.AddHistogram("blink_store_write_seconds", "Time of one write of the store, with its fsync.",
                    activity.write_seconds);
  list.AddHistogram("blink_store_batch_seconds",
                    "Time from the arrival of the first report of a batch until all of the batch are answered.",
                    activity.batch_seconds);
  list.AddHistogram("blink_store_batch_reports", "Fresh reports that shared one write.", activity.batch_reports);
  if (const std::optional<DiskStats>& disk = store.disk) {
    list.AddGauge("blink_data_disk_free_bytes", "Bytes left for the aggregator on the disk of its data folder.",
                  static_cast<double>(disk->free_bytes - disk->free_bytes % kDiskStep));
    list.AddGauge("blink_data_disk_size_bytes", "Size of the disk of the data folder.",
                  static_cast<double>(disk->size_bytes));
  }
}

void Telemetry::AddRounds(MetricList& list, const RoundsSeen& rounds) {
  constexpr std::array<v1::RoundState, 7> kStates = {
      v1::ROUND_STATE_OPEN,  v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING, v1::ROUND_STATE_TRAINING,
      v1::ROUND_STATE_READY, v1::ROUND_STATE_FAILED, v1::ROUND_STATE_CANCELLED};
  Samples by_state;
  for (const v1::RoundState state : kStates) {
    const auto found = rounds.by_state.find(state);
    const bool is_there = found != rounds.by_state.end();
    by_state.push_back({{{"state", RoundStateName(state)}}, is_there ? static_cast<double>(found->second) : 0});
  }
  list.AddGauge("blink_rounds", "Rounds in the store, by state.", by_state);
  Samples active, reported, missing, deadline;
  for (const v1::Round& round : rounds.open) {
    if (active.size() >= kRoundsListedMax) break;
    const MetricList::Labels labels = {{"round", round.round_id()}};
    const uint32_t nodes = CountActive(round);
    active.push_back({labels, static_cast<double>(nodes)});
    reported.push_back({labels, static_cast<double>(round.reports())});
    missing.push_back({labels, static_cast<double>(nodes - std::min(nodes, round.reports()))});
    deadline.push_back({labels, static_cast<double>(round.deadline_ms()) / 1000});
  }
  list.AddGauge("blink_round_active_nodes", "Nodes that take part in an open round.", active);
  list.AddGauge("blink_round_reported_nodes", "Nodes of an open round whose report is stored.", reported);
  list.AddGauge("blink_round_missing_nodes", "Nodes of an open round whose report is missing.", missing);
  list.AddGauge("blink_round_deadline_timestamp_seconds", "When an open round is sealed, in Unix time.", deadline);
}

void Telemetry::AddWorker(MetricList& list, const PipelineActivity& activity) {
  list.AddHistogram("blink_round_stage_seconds",
                    "Time that rounds took for a stage that came to its end since the start of this process.",
                    {{{{"stage", "open"}}, activity.open_seconds},
                     {{{"stage", "estimating"}}, activity.estimating_seconds},
                     {{{"stage", "training"}}, activity.training_seconds}});
  list.AddCounter("blink_rounds_failed_total",
                  "Rounds that failed by this process; each failure of a round that was tried again counts.",
                  static_cast<double>(activity.failed_rounds));
  list.AddGauge("blink_rounds_queued", "Rounds that wait for the worker.", static_cast<double>(activity.queued));
  constexpr std::array<const char*, 8> kKinds = {"done",    "error",  "disk_full", "signal",
                                                 "timeout", "silent", "stopped",   "occupied"};
  static_assert(static_cast<size_t>(WorkerExit::Kind::kOccupied) + 1 == kKinds.size());
  Samples exits;
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    exits.push_back({{{"kind", kKinds[kind]}}, static_cast<double>(activity.worker_exits[kind])});
  }
  list.AddCounter("blink_worker_exits_total", "Workers that have ended, by how.", exits);
  list.AddCounter("blink_rounds_reports_deleted_total", "Rounds whose reports were deleted, by age or by an operator.",
                  static_cast<double>(activity.rounds_deleted));
  list.AddGauge("blink_worker_running", "1: a worker runs.", activity.worker.has_value() ? 1 : 0);
  if (!activity.worker.has_value()) return;
  const WorkerActivity& worker = *activity.worker;
  list.AddGauge("blink_worker_progress_ratio", "How much of its stage the worker has done, from 0 to 1.",
                Samples{{{{"stage", worker.is_training ? "training" : "estimating"}}, worker.progress}});
  list.AddGauge("blink_worker_silent_seconds", "Time since the worker last told its progress, or started.",
                absl::ToDoubleSeconds(worker.silent));
  list.AddGauge("blink_worker_attempts", "Attempts at the round that the worker is at, this one included.",
                worker.attempt);
  if (worker.checkpoint.has_value()) {
    list.AddGauge("blink_worker_checkpoint_age_seconds", "Time since the worker last wrote a checkpoint.",
                  std::max(0.0, absl::ToDoubleSeconds(absl::Now() - *worker.checkpoint)));
  }
  if (const std::optional<ProcessStats> stats = ReadProcessStats(worker.pid)) {
    list.AddGauge("blink_worker_resident_memory_bytes", "Memory of the worker.",
                  static_cast<double>(stats->resident_bytes));
    list.AddGauge("blink_worker_cpu_seconds", "Processor time of the worker so far.", stats->cpu_seconds);
  }
}

void Telemetry::AddConnections(MetricList& list) {
  AggregatorServer* const server = server_;
  if (server == nullptr) return;
  ConnectionBooks& books = server->books();
  list.AddGauge("blink_connections_open", "Connections of nodes and operators, handshakes included.",
                books.ledger.open());
  list.AddGauge("blink_connections_limit", "As many connections may be open; further ones are refused.",
                books.ledger.limits().open);
  list.AddCounter("blink_connections_failed_total", "Connections that were refused, cut, or failed in the handshake.",
                  static_cast<double>(books.failures.total()));
}

void Telemetry::AddCertificates(MetricList& list) {
  AggregatorServer* const server = server_;
  if (server != nullptr && server->tls() != nullptr) {
    const ServerTls::Expiry expiry = server->tls()->expiry();
    list.AddGauge("blink_certificate_expiry_timestamp_seconds",
                  "When the certificate that is in use expires, and the authority's, in Unix time.",
                  Samples{{{{"of", "aggregator"}}, UnixSeconds(expiry.certificate)},
                          {{{"of", "authority"}}, UnixSeconds(expiry.authority)}});
  }
  if (const std::shared_ptr<const Revocations> revocations = sources_.guard.revocations()) {
    list.AddGauge("blink_revocations_expiry_timestamp_seconds",
                  "When the revocation list in force is outdated, in Unix time.",
                  UnixSeconds(revocations->list()->next_update()));
  }
}

void Telemetry::AddAuditLog(MetricList& list) {
  const AuditLogActivity activity = sources_.audit_log.GetActivity();
  list.AddCounter("blink_audit_log_records_total", "Records that were written to the audit log.",
                  static_cast<double>(activity.records));
  list.AddGauge("blink_audit_log_size_bytes", "Size of the audit log.", static_cast<double>(activity.bytes));
  list.AddCounter("blink_audit_log_failed_writes_total",
                  "Records that could not be written or synced; what they were about was not done.",
                  static_cast<double>(activity.failed_writes));
  list.AddGauge("blink_audit_log_last_failure_timestamp_seconds",
                "When a record could last not be written or synced, in Unix time; 0: never since the start.",
                activity.last_failure.has_value() ? UnixSeconds(*activity.last_failure) : 0);
}

void Telemetry::AddProcess(MetricList& list) {
  if (const std::optional<ProcessStats> stats = ReadProcessStats(::getpid())) {
    list.AddGauge("process_resident_memory_bytes", "Memory of the aggregator.",
                  static_cast<double>(stats->resident_bytes));
    list.AddCounter("process_cpu_seconds_total", "Processor time of the aggregator.", stats->cpu_seconds);
    list.AddGauge("process_start_time_seconds", "When the aggregator started, in Unix time.",
                  stats->start_unix_seconds);
  }
  const DescriptorStats descriptors = ReadOwnDescriptors();
  list.AddGauge("process_open_fds", "Open descriptors of the aggregator.", static_cast<double>(descriptors.open));
  list.AddGauge("process_max_fds", "As many descriptors may be open.", static_cast<double>(descriptors.limit));
}

}  // namespace blink
