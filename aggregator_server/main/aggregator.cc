#include "aggregator_server/main/aggregator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"
#include "common/wire/round.h"

namespace blink {

absl::Status CheckAttributes(const std::string& folder, uint32_t node_count) {
  BLINK_ASSIGN_OR_RETURN(const NodeAttributes attributes, ReadAttributes(folder));
  if (attributes.node_count == node_count) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the attribute folder ", folder, " describes ",
                                                    attributes.node_count, " nodes, the roster (--nodes) has ",
                                                    node_count));
}

absl::StatusOr<std::unique_ptr<Aggregator>> Aggregator::Start(const AggregatorOptions& options, Clock& clock) {
  BLINK_RETURN_IF_ERROR(ValidateDeployment(options.deployment.name));
  if (options.deployment.node_count < kNodesMin || options.deployment.node_count > kNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("--nodes is ", options.deployment.node_count, ", it must be in ",
                                                   kNodesMin, " .. ", kNodesMax));
  }
  BLINK_RETURN_IF_ERROR(CheckAttributes(options.attributes_folder, options.deployment.node_count));
  BLINK_RETURN_IF_ERROR(MakeDirectories(options.data_folder));

  std::unique_ptr<Aggregator> aggregator(new Aggregator);
  BLINK_ASSIGN_OR_RETURN(aggregator->store_, OpenRocksDbStore(absl::StrCat(options.data_folder, "/store")));
  for (const v1::Round& round : aggregator->store_->ListRounds()) {
    if (IsTerminal(round.state())) continue;
    if (round.deployment() != options.deployment.name ||
        round.parameters().node_count() != options.deployment.node_count) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the store ", options.data_folder, " holds the unfinished round ", round.round_id(), " of deployment \"",
          round.deployment(), "\" with ", round.parameters().node_count(), " nodes: this is another data folder"));
    }
  }
  PipelineOptions pipeline;
  pipeline.deployment = options.deployment.name;
  pipeline.node_count = options.deployment.node_count;
  pipeline.roster_version = options.deployment.roster_version;
  pipeline.rounds_folder = absl::StrCat(options.data_folder, "/rounds");
  pipeline.attributes_folder = options.attributes_folder;
  pipeline.worker_path = options.worker_path;
  pipeline.worker_threads = options.worker_threads;
  pipeline.worker_limits = options.worker_limits;
  aggregator->pipeline_ = std::make_unique<Pipeline>(std::move(pipeline), *aggregator->store_, clock);
  Pipeline* const rounds = aggregator->pipeline_.get();
  aggregator->ingest_ = std::make_unique<Ingest>(
      options.deployment, options.limits, *aggregator->store_, clock,
      [rounds](const std::string& round_id, uint32_t reports) { rounds->NoteReport(round_id, reports); });
  aggregator->authenticator_ =
      std::make_unique<Authenticator>(options.deployment.name, !options.server.tls.has_value());
  aggregator->node_service_ =
      std::make_unique<NodeServiceImpl>(*aggregator->authenticator_, *aggregator->ingest_, *aggregator->store_);
  aggregator->operator_service_ = std::make_unique<OperatorServiceImpl>(*aggregator->authenticator_, *rounds);
  BLINK_RETURN_IF_ERROR(rounds->Start());
  BLINK_ASSIGN_OR_RETURN(aggregator->server_,
                         AggregatorServer::Start(options.server, {aggregator->node_service_.get(),
                                                                  aggregator->operator_service_.get()}));
  return aggregator;
}

Aggregator::~Aggregator() {
  if (server_ != nullptr) server_->Shutdown(absl::Seconds(1));  // what has arrived is still made durable and acknowledged
  server_.reset();
  if (pipeline_ != nullptr) pipeline_->Stop();
  store_.reset();
}

}  // namespace blink
