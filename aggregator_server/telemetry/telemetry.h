// What an aggregator shows to whoever watches it, over HTTP (aggregator_server/http):
//
//   GET /metrics   numbers for Prometheus. docs/AGGREGATOR.md has the table
//   GET /healthz   200 while the process lives
//   GET /readyz    200 while it serves; 503 with the reason while it stops, or its store takes no write
//
// Everything is read when somebody asks, and nobody waits for a store that hangs (store_probe.h). The parts of the
// aggregator only count: no metric costs a call or a report more than a few additions.
//
// No metric depends on a list, or tells anything of one node: there is no node id, no address and no name in them, and
// nothing that is computed from the bits or the degree of a report. Two are near to that. The bytes of the reports,
// whose coding depends on their bits, are one sum in whole steps (kBytesStep). And how long an estimate takes follows
// from reports, which are private already. docs/THREAT_MODEL.md says who may read what.
#ifndef BLINK_AGGREGATOR_SERVER_TELEMETRY_TELEMETRY_H_
#define BLINK_AGGREGATOR_SERVER_TELEMETRY_TELEMETRY_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/audit_log/audit_log.h"
#include "aggregator_server/http/http_message.h"
#include "aggregator_server/ingest/ingest.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/telemetry/metric_list.h"
#include "aggregator_server/telemetry/store_probe.h"
#include "aggregator_server/transport/authenticator.h"
#include "aggregator_server/transport/certificate_guard.h"
#include "aggregator_server/transport/server.h"

namespace blink {

class Telemetry {
 public:
  // A report's size depends on its bits, so sums of sizes are shown in whole steps.
  static constexpr uint64_t kBytesStep = 64 << 10;
  static constexpr uint64_t kDiskStep = 4 << 20;

  // All outlive this.
  struct Sources {
    ReportStore& store;
    Ingest& ingest;
    Pipeline& pipeline;
    const Authenticator& authenticator;
    const CertificateGuard& guard;
    const AuditLog& audit_log;
    std::string data_folder;
  };
  explicit Telemetry(const Sources& sources) : sources_(sources), probe_(sources.store, sources.data_folder) {}

  // The server, once there is one; it outlives the last Answer.
  void SetServer(AggregatorServer* server) { server_ = server; }
  // From now on it is not ready.
  void BeginStop() { stopping_ = true; }
  // The same, until it is taken back.
  void SetDraining(bool draining) { draining_ = draining; }

  // UNAVAILABLE: it stops, drains, or its store does not answer. Otherwise what ReportStore::CheckCanStore says.
  absl::Status CheckReady() { return CheckReady(probe_.Look()); }
  // Any thread.
  HttpResponse Answer(const std::string& path);
  MetricList Collect();

 private:
  absl::Status CheckReady(const StoreProbe::Seen& store) const;
  void AddReports(MetricList& list);
  void AddStore(MetricList& list, const StoreProbe::Seen& store);
  void AddRounds(MetricList& list, const RoundsSeen& rounds);
  void AddWorker(MetricList& list, const PipelineActivity& activity);
  void AddConnections(MetricList& list);
  void AddCertificates(MetricList& list);
  void AddAuditLog(MetricList& list);
  void AddProcess(MetricList& list);

  const Sources sources_;
  StoreProbe probe_;
  std::atomic<AggregatorServer*> server_{nullptr};
  std::atomic<bool> stopping_{false}, draining_{false};
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TELEMETRY_TELEMETRY_H_
