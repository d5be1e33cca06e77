#include "aggregator_server/service/admin_client.h"

#include <grpcpp/client_context.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "aggregator_server/transport/health.h"
#include "blink/v1/admin.grpc.pb.h"
#include "common/base/status_macros.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

constexpr absl::Duration kAnswerMax = absl::Minutes(2);  // a snapshot waits for the disk

template <typename Request, typename Response>
absl::StatusOr<Response> Ask(const std::string& data_folder,
                             grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                            Response*),
                             const Request& request) {
  BLINK_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, ChannelToSocket(HealthSocketIn(data_folder)));
  const auto stub = v1::AdminService::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kAnswerMax));
  Response response;
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  if (status.ok()) return response;
  const absl::Status plain = FromGrpcStatus(status);
  if (!absl::IsUnavailable(plain)) return plain;
  return absl::UnavailableError(absl::StrCat("no aggregator answers at ", HealthSocketIn(data_folder), ": ",
                                             plain.message(),
                                             "; does one run on this data folder, and is this its user?"));
}

}  // namespace

absl::StatusOr<Snapshot> AskForSnapshot(const std::string& data_folder) {
  BLINK_ASSIGN_OR_RETURN(const v1::MakeSnapshotResponse response,
                         Ask(data_folder, &v1::AdminService::Stub::MakeSnapshot, v1::MakeSnapshotRequest()));
  return Snapshot{.folder = response.folder(), .round_ids = {response.round_ids().begin(), response.round_ids().end()}};
}

absl::StatusOr<DrainState> AskToDrain(const std::string& data_folder, bool undo) {
  v1::DrainRequest request;
  request.set_undo(undo);
  BLINK_ASSIGN_OR_RETURN(const v1::DrainResponse response, Ask(data_folder, &v1::AdminService::Stub::Drain, request));
  return DrainState{.reports_in_flight = response.reports_in_flight(), .worker_runs = response.worker_runs()};
}

}  // namespace blink
