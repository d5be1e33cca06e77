// A whole aggregator in one object: store, border, rounds, services, server. `blink-aggregator` runs it, and
// integration tests run it in process.
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_AGGREGATOR_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_AGGREGATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/audit_log/audit_log.h"
#include "aggregator_server/backup/snapshot_folder.h"
#include "aggregator_server/http/http_server.h"
#include "aggregator_server/ingest/ingest.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/service/admin_service.h"
#include "aggregator_server/service/node_service.h"
#include "aggregator_server/service/operator_service.h"
#include "aggregator_server/store/encrypted_store.h"
#include "aggregator_server/store/postgres_target.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/telemetry/telemetry.h"
#include "aggregator_server/transport/authenticator.h"
#include "aggregator_server/transport/server.h"
#include "aggregator_server/web/web_page.h"
#include "common/base/clock.h"
#include "common/base/durable_file.h"
#include "common/wire/roster.h"

namespace blink {

struct AggregatorOptions {
  std::string data_folder;              // DATA/store and DATA/rounds are made in it
  std::optional<PostgresTarget> store;  // the database of the reports and rounds; absent: RocksDB in DATA/store
  DataKeys data_keys;                   // of reports that are encrypted (encrypted_store.h)
  std::string attributes_folder;        // empty: nothing is known of the nodes, and rounds give links and degrees
  Deployment deployment;
  ServerOptions server;
  absl::Duration retain_reports = absl::InfiniteDuration();  // after the end of their round
  std::string audit_log;                                     // what operators did (audit_log.h); empty: DATA/audit.log
  std::string http_listen;  // HOST:PORT of metrics and health (telemetry.h); empty: they are not served over HTTP
  std::string web_listen;   // HOST:PORT of the page for operators (web_page.h); empty: there is none
  IngestLimits limits;
  std::string worker_path;
  int worker_threads = 0;
  WorkerLimits worker_limits = {.niceness = 10};  // the reports of other rounds come first
  bool ignore_memory = false;                     // of a worker that needs more than there is
  std::string revocations_file;                   // empty: only dates are checked
  bool accept_data_loss = false;                  // start although something that was acknowledged is gone
  bool refuse_when_outdated = false;              // an outdated revocation list: refuse everybody
  Clock* certificate_clock = &SystemClock();      // by which certificates expire; TLS itself looks at the system's
};

// FAILED_PRECONDITION unless the rounds of `store` that have not ended are of this deployment, and of a roster that
// this one may follow.
absl::Status CheckRounds(const std::vector<v1::Round>& rounds, const Roster& roster, const std::string& store);

class Aggregator {
 public:
  // Checks the certificate (ServerTls::Load), opens the store, takes up the rounds that have not ended, and serves.
  // FAILED_PRECONDITION: the attribute folder holds edges or has another n, the roster (options.deployment) does not
  // follow those in DATA/rosters/<version>.json (see Roster::CheckFollows), or DATA does not fit the store. DATA_LOSS:
  // see data_folder.h. UNAVAILABLE: an address cannot be bound, or the database cannot be reached. Other errors are
  // those of the parts.
  static absl::StatusOr<std::unique_ptr<Aggregator>> Start(const AggregatorOptions& options, Clock& clock);
  // Reads the files that Start reads, and returns what it would refuse them for. Opens no store, binds no port, and
  // writes nothing.
  static absl::Status Check(const AggregatorOptions& options);
  ~Aggregator();

  int port() const { return server_->port(); }
  int http_port() const { return http_ == nullptr ? 0 : http_->port(); }  // 0: none
  int web_port() const { return web_ == nullptr ? 0 : web_->port(); }     // 0: none
  // Reads the certificate and the revocation list anew, now.
  void RereadFiles() {
    server_->RereadCertificate();
    guard_->RereadRevocations();
  }
  ReportStore& store() { return *store_; }
  Ingest& ingest() { return *ingest_; }
  Pipeline& pipeline() { return *pipeline_; }
  Telemetry& telemetry() { return *telemetry_; }
  AuditLog& audit_log() { return *audit_log_; }

 private:
  Aggregator() = default;

  // Destroyed from the last to the first. The store goes before ingest_, which its last callbacks need.
  std::unique_ptr<FileLock> lock_;  // of the data folder
  std::unique_ptr<OldSnapshots> old_snapshots_;
  std::unique_ptr<AuditLog> audit_log_;
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<ReportStore> store_;
  std::unique_ptr<CertificateGuard> guard_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<NodeServiceImpl> node_service_;
  std::unique_ptr<OperatorServiceImpl> operator_service_;
  std::unique_ptr<AdminServiceImpl> admin_service_;
  std::unique_ptr<AggregatorServer> server_;
  std::unique_ptr<Telemetry> telemetry_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<WebPage> page_;
  std::unique_ptr<HttpServer> web_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_AGGREGATOR_H_
