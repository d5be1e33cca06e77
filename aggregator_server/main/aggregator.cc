#include "aggregator_server/main/aggregator.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "aggregator_server/backup/snapshot_folder.h"
#include "aggregator_server/main/attribute_facts.h"
#include "aggregator_server/main/data_folder.h"
#include "aggregator_server/store/postgres_store.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/program.h"
#include "common/base/status_macros.h"
#include "common/wire/roster.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr uint64_t kRosterBytesMax = 256 << 20;

// A folder that served with TLS before has it.
void WarnIfMemoryIsMissing(const AggregatorOptions& options, bool used_before) {
  std::error_code error;
  if (std::filesystem::exists(options.data_folder + "/revoked.crl.pem", error) || error) return;
  if (!used_before) return;
  spdlog::warn(
      "{}/revoked.crl.pem is missing, so that nothing shows whether {} is older than the revocation list that "
      "was last in force: make sure that it is the latest one",
      options.data_folder, options.revocations_file);
}

absl::StatusOr<std::unique_ptr<Revocations>> FollowRevocations(const AggregatorOptions& options, bool used_before) {
  if (options.revocations_file.empty() || !options.server.tls.has_value()) return nullptr;
  WarnIfMemoryIsMissing(options, used_before);
  return Revocations::Load({.path = options.revocations_file,
                            .ca_path = options.server.tls->ca,
                            .memory_path = absl::StrCat(options.data_folder, "/revoked.crl.pem"),
                            .refuse_when_outdated = options.refuse_when_outdated},
                           *options.certificate_clock);
}

std::string RosterPath(const std::string& data_folder, uint64_t version) {
  return absl::StrCat(data_folder, "/rosters/", version, ".json");
}

// Few connections where there are few descriptors: they are not the ones that matter.
HttpLimits HttpLimitsHere() {
  constexpr rlim_t kDescriptorsOfAConnection = 16;
  rlimit files{};
  HttpLimits limits;
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return limits;
  limits.connections_max = std::clamp<size_t>(files.rlim_cur / kDescriptorsOfAConnection, 2, limits.connections_max);
  limits.streams_max = std::clamp<size_t>(files.rlim_cur / (2 * kDescriptorsOfAConnection), 2, limits.streams_max);
  return limits;
}

// INVALID_ARGUMENT: `address` is none. FAILED_PRECONDITION: others than this machine reach it.
absl::Status RequirePrivate(const std::string& address) {
  BLINK_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address, AddressUse::kListen));
  if (parsed.host.empty() || parsed.IsLoopback()) return absl::OkStatus();  // without a host: HttpServer::Listen
  return absl::FailedPreconditionError(absl::StrCat("--web-listen: with --insecure the page is for loopback only ",
                                                    "(127.0.0.1, [::1] or localhost), not for ", address));
}

// Every roster that was in use here before, ascending.
absl::StatusOr<std::vector<Roster>> ReadEarlierRosters(const std::string& data_folder) {
  std::vector<Roster> rosters;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder + "/rosters", error)) {
    if (entry.path().extension() != ".json") continue;  // the remains of a write that a crash ended
    const absl::StatusOr<std::string> text = ReadFile(entry.path().string(), kRosterBytesMax);
    if (!text.ok() && !absl::IsInvalidArgument(text.status()) && !absl::IsOutOfRange(text.status())) {
      return text.status();
    }
    absl::StatusOr<Roster> roster = text.ok() ? Roster::FromJson(*text) : text.status();
    if (!roster.ok()) {
      return absl::DataLossError(absl::StrCat("a roster that was in use before cannot be read: ", entry.path().string(),
                                              ": ", roster.status().message(),
                                              "; bring it back from a backup of the data folder"));
    }
    rosters.push_back(*std::move(roster));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return FileError(error.value(), "list", data_folder + "/rosters");
  std::sort(rosters.begin(), rosters.end(), [](const Roster& a, const Roster& b) { return a.version() < b.version(); });
  return rosters;
}

absl::StatusOr<std::unique_ptr<ReportStore>> OpenStore(const AggregatorOptions& options) {
  if (!options.store.has_value()) {
    BLINK_RETURN_IF_ERROR(CheckStoreIsThere(options.data_folder, options.accept_data_loss));
    return OpenRocksDbStore(absl::StrCat(options.data_folder, "/store"), {.accept_loss = options.accept_data_loss});
  }
  BLINK_RETURN_IF_ERROR(CheckNoStoreIsThere(options.data_folder));
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<ReportStore> store, OpenPostgresStore(*options.store));
  spdlog::info("reports and rounds are kept in {}", options.store->shown());
  BLINK_ASSIGN_OR_RETURN(const std::string deployment, store->GetOrSetNote("deployment", options.deployment.name));
  if (deployment != options.deployment.name) {
    return absl::FailedPreconditionError(absl::StrCat(options.store->shown(), " is of deployment \"", deployment,
                                                      "\", not \"", options.deployment.name,
                                                      "\": give each deployment a database of its own"));
  }
  BLINK_RETURN_IF_ERROR(CheckRoundsAreShared(options.data_folder, *store, options.accept_data_loss));
  return store;
}

}  // namespace

absl::Status CheckRounds(const std::vector<v1::Round>& rounds, const Roster& roster, const std::string& store) {
  for (const v1::Round& round : rounds) {
    if (round.deployment() == roster.deployment() && round.roster_version() > roster.version()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the store ", store, " holds round ", round.round_id(), " of roster version ", round.roster_version(),
          ", and this roster is version ", roster.version(), ": bring the latest one (roster.json of the authority)"));
    }
    if (IsTerminal(round.state())) continue;
    const uint32_t n = round.parameters().node_count();
    const bool fits = round.roster_version() == roster.version() ? n == roster.node_count() : n <= roster.node_count();
    if (round.deployment() == roster.deployment() && round.roster_version() <= roster.version() && fits) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the store ", store, " holds the unfinished round ", round.round_id(), " of deployment \"",
                     round.deployment(), "\", roster version ", round.roster_version(), " with ", n,
                     " nodes, and the roster is version ", roster.version(), " of \"", roster.deployment(), "\" with ",
                     roster.node_count(), ": this is another data folder, or an older roster"));
  }
  return absl::OkStatus();
}

namespace {

absl::Status NoteInAuditLog(AuditLog& log, const std::string& action, const std::string& detail) {
  return log.Append({.event = "noted", .who = "aggregator", .action = action, .detail = detail, .outcome = "OK"});
}

std::string DescribeStart(const AggregatorOptions& options) {
  return absl::StrCat(ProgramVersion(), ", roster version ", options.deployment.roster_version,
                      options.server.tls.has_value() ? "" : ", without TLS",
                      options.accept_data_loss ? ", accepting a loss of data" : "");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Aggregator>> Aggregator::Start(const AggregatorOptions& options, Clock& clock) {
  BLINK_RETURN_IF_ERROR(ValidateDeployment(options.deployment.name));
  if (options.server.tls.has_value()) {
    BLINK_RETURN_IF_ERROR(ServerTls::Check(*options.server.tls, options.deployment.name));
  }
  Deployment deployment = options.deployment;
  BLINK_ASSIGN_OR_RETURN(const Roster roster, Roster::Create(deployment.name, deployment.roster_version,
                                                             deployment.node_count, deployment.retired));
  deployment.retired = roster.retired();
  const auto facts = std::make_shared<AttributeFacts>(options.attributes_folder, options.deployment.node_count);
  BLINK_RETURN_IF_ERROR(facts->Get().status());
  const bool used_before = WasUsedBefore(options.data_folder);
  BLINK_RETURN_IF_ERROR(MakeDirectories(options.data_folder + "/rosters"));
  BLINK_ASSIGN_OR_RETURN(deployment.earlier, ReadEarlierRosters(options.data_folder));
  if (!deployment.earlier.empty()) BLINK_RETURN_IF_ERROR(roster.CheckFollows(deployment.earlier.back()));

  std::unique_ptr<Aggregator> aggregator(new Aggregator);
  if (!options.http_listen.empty()) {  // first: a port that is taken must not be found after the store has been opened
    absl::StatusOr<std::unique_ptr<HttpServer>> http = HttpServer::Listen(options.http_listen, HttpLimitsHere());
    if (!http.ok()) return Reworded(http.status(), absl::StrCat("--http-listen: ", http.status().message()));
    aggregator->http_ = *std::move(http);
  }
  Aggregator* const self = aggregator.get();
  if (!options.web_listen.empty()) {
    if (!options.server.tls.has_value()) BLINK_RETURN_IF_ERROR(RequirePrivate(options.web_listen));
    HttpServer::Options web{.limits = HttpLimitsHere(), .slow_handler = true};
    if (options.server.tls.has_value()) {
      web.tls = [self] { return self->server_->tls()->in_use(); };
    }
    absl::StatusOr<std::unique_ptr<HttpServer>> listening = HttpServer::Listen(options.web_listen, std::move(web));
    if (!listening.ok()) {
      return Reworded(listening.status(), absl::StrCat("--web-listen: ", listening.status().message()));
    }
    aggregator->web_ = *std::move(listening);
  }
  absl::StatusOr<FileLock> lock = FileLock::Acquire(options.data_folder + "/aggregator.lock");
  if (!lock.ok()) {
    const char* const remedy = absl::IsAborted(lock.status()) ? ": end it first, or use another data folder" : "";
    return Reworded(lock.status(), absl::StrCat("cannot use the data folder: ", lock.status().message(), remedy));
  }
  aggregator->lock_ = std::make_unique<FileLock>(*std::move(lock));
  BLINK_RETURN_IF_ERROR(CheckRoundsCanBeWritten(options.data_folder));
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<ReportStore> store, OpenStore(options));
  DataKeys data_keys = options.data_keys;
  data_keys.accept_loss = options.accept_data_loss;
  BLINK_ASSIGN_OR_RETURN(aggregator->store_, OpenEncryptedStore(std::move(store), data_keys));
  BLINK_ASSIGN_OR_RETURN(
      aggregator->audit_log_,
      AuditLog::Open(options.audit_log.empty() ? options.data_folder + "/audit.log" : options.audit_log, clock));
  BLINK_RETURN_IF_ERROR(CheckRoundFolders(options.data_folder, *aggregator->store_, options.accept_data_loss));
  BLINK_RETURN_IF_ERROR(CheckResultsAreThere(options.data_folder, *aggregator->store_, options.accept_data_loss));
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> held_rounds, aggregator->store_->ListRounds());
  BLINK_RETURN_IF_ERROR(
      CheckRounds(held_rounds, roster, options.store.has_value() ? options.store->shown() : options.data_folder));
  // Only now, when nothing about it can be refused any more; and before a round can begin with it.
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(RosterPath(options.data_folder, roster.version()), roster.ToJson(), 0644));
  PipelineOptions pipeline;
  pipeline.deployment = roster.deployment();
  pipeline.node_count = roster.node_count();
  pipeline.roster_version = roster.version();
  pipeline.active_nodes = roster.active_count();
  pipeline.rounds_folder = absl::StrCat(options.data_folder, "/rounds");
  pipeline.attributes_folder = options.attributes_folder;
  pipeline.facts = [facts] { return facts->Get(); };
  pipeline.worker_path = options.worker_path;
  pipeline.worker_threads = options.worker_threads;
  for (const Roster& earlier : deployment.earlier) pipeline.retired[earlier.version()] = earlier.retired();
  pipeline.retired[roster.version()] = roster.retired();
  pipeline.worker_limits = options.worker_limits;
  pipeline.ignore_memory = options.ignore_memory;
  pipeline.retain_reports = options.retain_reports;
  pipeline.reports_deleted = [log = aggregator->audit_log_.get()](const v1::Round& round) {
    const absl::Status noted = log->Append({.event = "noted",
                                            .who = "aggregator",
                                            .action = "delete reports",
                                            .round_id = round.round_id(),
                                            .detail = round.result_deleted() ? "and the result" : "",
                                            .outcome = "OK"});
    if (!noted.ok()) spdlog::error("a deletion is not in the audit log: {}", std::string(noted.message()));
  };
  aggregator->pipeline_ = std::make_unique<Pipeline>(std::move(pipeline), *aggregator->store_, clock);
  Pipeline* const rounds = aggregator->pipeline_.get();
  aggregator->ingest_ = std::make_unique<Ingest>(
      std::move(deployment), options.limits, *aggregator->store_, clock,
      [rounds](const std::string& round_id, uint32_t reports) { rounds->NoteReport(round_id, reports); });
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Revocations> revocations, FollowRevocations(options, used_before));
  aggregator->guard_ = std::make_unique<CertificateGuard>(std::move(revocations), *options.certificate_clock);
  aggregator->authenticator_ =
      std::make_unique<Authenticator>(options.deployment.name, !options.server.tls.has_value(), *aggregator->guard_);
  aggregator->node_service_ =
      std::make_unique<NodeServiceImpl>(*aggregator->authenticator_, *aggregator->ingest_, *aggregator->store_);
  aggregator->operator_service_ = std::make_unique<OperatorServiceImpl>(
      *aggregator->authenticator_, *rounds, aggregator->ingest_->refused_reports(), *aggregator->audit_log_);
  BLINK_RETURN_IF_ERROR(rounds->Start());
  aggregator->telemetry_ = std::make_unique<Telemetry>(
      Telemetry::Sources{*aggregator->store_, *aggregator->ingest_, *aggregator->pipeline_, *aggregator->authenticator_,
                         *aggregator->guard_, *aggregator->audit_log_, options.data_folder});
  Telemetry* const telemetry = aggregator->telemetry_.get();
  const auto set_draining = [ingest = aggregator->ingest_.get(), operators = aggregator->operator_service_.get(),
                             telemetry](bool draining) {
    telemetry->SetDraining(draining);
    operators->SetDraining(draining);
    ingest->SetDraining(draining);
  };
  aggregator->admin_service_ = std::make_unique<AdminServiceImpl>(
      AdminServiceImpl::Parts{*aggregator->authenticator_, *aggregator->store_, *aggregator->ingest_,
                              *aggregator->pipeline_, *aggregator->audit_log_, options.data_folder, set_draining});
  ServerOptions server = options.server;
  server.can_serve = [telemetry] { return telemetry->CheckReady(); };
  server.each_second = [log = aggregator->audit_log_.get()] { log->Look(); };
  // Of backups that were killed: deleted reports must not lie there.
  aggregator->old_snapshots_ = std::make_unique<OldSnapshots>(options.data_folder);
  server.deployment = options.deployment.name;
  server.revocations = aggregator->guard_->revocations();
  BLINK_RETURN_IF_ERROR(NoteInAuditLog(*aggregator->audit_log_, "start", DescribeStart(options)));
  const AuditChain chain = aggregator->audit_log_->chain();
  spdlog::info("audit log: {} records, the last has the hash {}", chain.records, chain.head);
  BLINK_ASSIGN_OR_RETURN(aggregator->server_, AggregatorServer::Start(server, {aggregator->node_service_.get(),
                                                                               aggregator->operator_service_.get(),
                                                                               aggregator->admin_service_.get()}));
  telemetry->SetServer(aggregator->server_.get());
  if (aggregator->http_ != nullptr) {
    aggregator->http_->Start([telemetry](const HttpRequest& request) { return telemetry->Answer(request.path); });
  }
  if (aggregator->web_ != nullptr) {
    aggregator->page_ = std::make_unique<WebPage>(
        WebPage::Sources{*aggregator->store_, *rounds, *aggregator->authenticator_, *aggregator->guard_,
                         roster.deployment(), roster.node_count(), roster.active_count(), roster.version(),
                         options.data_folder, [telemetry] { return telemetry->CheckReady(); }});
    aggregator->page_->SetServer(aggregator->server_.get());
    aggregator->web_->Start(
        [page = aggregator->page_.get()](const HttpRequest& request) { return page->Answer(request); });
  }
  return aggregator;
}

absl::Status Aggregator::Check(const AggregatorOptions& options) {
  BLINK_RETURN_IF_ERROR(ValidateDeployment(options.deployment.name));
  const Deployment& deployment = options.deployment;
  BLINK_ASSIGN_OR_RETURN(const Roster roster, Roster::Create(deployment.name, deployment.roster_version,
                                                             deployment.node_count, deployment.retired));
  if (options.server.tls.has_value()) {
    BLINK_RETURN_IF_ERROR(ServerTls::Check(*options.server.tls, deployment.name));
    BLINK_RETURN_IF_ERROR(Revocations::Load({.path = options.revocations_file,
                                             .ca_path = options.server.tls->ca,
                                             .memory_path = absl::StrCat(options.data_folder, "/revoked.crl.pem"),
                                             .refuse_when_outdated = options.refuse_when_outdated,
                                             .only_check = true},
                                            *options.certificate_clock)
                              .status());
  }
  AttributeFacts facts(options.attributes_folder, deployment.node_count);
  BLINK_RETURN_IF_ERROR(facts.Get().status());
  BLINK_ASSIGN_OR_RETURN(const std::vector<Roster> earlier, ReadEarlierRosters(options.data_folder));
  return earlier.empty() ? absl::OkStatus() : roster.CheckFollows(earlier.back());
}

Aggregator::~Aggregator() {
  const bool served = server_ != nullptr;
  // what has arrived is still made durable and acknowledged
  if (telemetry_ != nullptr) telemetry_->BeginStop();
  if (server_ != nullptr) server_->Shutdown(absl::Seconds(1));
  if (pipeline_ != nullptr) pipeline_->Stop();  // /readyz says meanwhile that it stops
  http_.reset();
  web_.reset();
  page_.reset();
  server_.reset();
  telemetry_.reset();  // it asks the store
  store_.reset();
  if (served) {
    const absl::Status noted = NoteInAuditLog(*audit_log_, "stop", "");
    if (!noted.ok()) spdlog::error("the stop is not in the audit log: {}", std::string(noted.message()));
  }
}

}  // namespace blink
