#include "aggregator_server/transport/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator_server/transport/handshake_log.h"
#include "aggregator_server/transport/health.h"
#include "aggregator_server/transport/refusal_log.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// Whoever links gRPC's library for reflection has it in every server, unless it is taken out of the builder again.
class NoReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    const auto is_reflection = [](const std::unique_ptr<grpc::ServerBuilderPlugin>& plugin) {
      return dynamic_cast<grpc::reflection::ProtoServerReflectionPlugin*>(plugin.get()) != nullptr;
    };
    plugins->erase(std::remove_if(plugins->begin(), plugins->end(), is_reflection), plugins->end());
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<AggregatorServer>> AggregatorServer::Start(const ServerOptions& options,
                                                                          const std::vector<grpc::Service*>& services) {
  HandshakeLog::Install();
  std::unique_ptr<ServerTls> tls;
  std::shared_ptr<grpc::ServerCredentials> credentials;
  if (options.tls.has_value()) {
    BLINK_ASSIGN_OR_RETURN(tls, ServerTls::Load(*options.tls, options.deployment));
    credentials = tls->credentials();
  } else {
    BLINK_RETURN_IF_ERROR(RequireLoopback(options.listen));
    credentials = grpc::InsecureServerCredentials();
  }
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Acceptor> acceptor, Acceptor::Listen(options.listen, options.balancers));
  acceptor->books().revocations = options.revocations;
  grpc::EnableDefaultHealthCheckService(true);  // of builders that are made from now on
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  if (!options.reflection) builder.SetOption(std::make_unique<NoReflection>());
  if (!options.health_socket.empty()) ServeHealth(options.health_socket, builder);
  using From = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  auto sink = builder.experimental().AddExternalConnectionAcceptor(From::FROM_FD, credentials);
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  // or the 2 MiB of a message could unpack to 2 GiB
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetResourceQuota(grpc::ResourceQuota("blink-aggregator").Resize(options.memory_bytes_max));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams_per_connection_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  // whoever connects and says nothing is let go
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20'000);
  // Nobody holds a connection for ever: an idle one is closed, and any other is asked to come again after an hour.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 5 * 60'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 60 * 60'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 10 * 60'000);
  AllowKeepalive(builder);
  // Peers that vanished are noticed.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::InternalError("gRPC cannot start a server");
  std::unique_ptr<AggregatorServer> started(
      new AggregatorServer(std::move(tls), std::move(acceptor), std::move(server)));
  started->can_serve_ = options.can_serve;
  started->LookAtHealth();
  started->acceptor_->Start(std::move(sink), [server = started.get(), each_second = options.each_second] {
    Refusals().Look();
    if (each_second) each_second();
    server->LookAtHealth();
    if (server->tls_ != nullptr) server->tls_->Look(server->reread_certificate_.exchange(false));
  });
  return started;
}

AggregatorServer::~AggregatorServer() { Shutdown(absl::ZeroDuration()); }

void AggregatorServer::LookAtHealth() {
  const absl::Status can_serve = can_serve_ ? can_serve_() : absl::OkStatus();
  if (can_serve.ok() == is_serving_) return;  // gRPC tells whoever watches each time that it is set
  is_serving_ = can_serve.ok();
  server_->GetHealthCheckService()->SetServingStatus(is_serving_);
  if (is_serving_) {
    spdlog::info("health checks are told again that this aggregator serves");
  } else {
    spdlog::warn("health checks are told that this aggregator does not serve: {}", std::string(can_serve.message()));
  }
}

void AggregatorServer::Shutdown(absl::Duration grace) {
  acceptor_->Stop();
  server_->GetHealthCheckService()->SetServingStatus(false);
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
  Refusals().Summarize();
}

}  // namespace blink
