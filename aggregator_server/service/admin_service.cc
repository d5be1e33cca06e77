#include "aggregator_server/service/admin_service.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/backup/snapshot_folder.h"
#include "aggregator_server/transport/caller_names.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/rpc/status.h"

namespace blink {

grpc::ServerUnaryReactor* AdminServiceImpl::Answer(grpc::CallbackServerContext& context, const char* action,
                                                   const std::string& detail,
                                                   const std::function<absl::Status()>& act) {
  const auto answer = [&]() -> absl::Status {
    AuditRecord record{.who = "local", .peer = PeerOf(context), .action = action, .detail = detail};
    if (!absl::StartsWith(context.peer(), "unix:")) {  // the same server also has a port
      record.who = parts_.authenticator.Describe(context);
      const absl::Status refused =
          absl::PermissionDeniedError("this is asked over the socket in the data folder alone");
      parts_.audit_log.Refuse(record, refused);
      return refused;
    }
    return parts_.audit_log.RecordAround(std::move(record), [&](AuditRecord&) { return act(); });
  };
  grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(ToGrpcStatus(answer()));
  return reactor;
}

grpc::ServerUnaryReactor* AdminServiceImpl::MakeSnapshot(grpc::CallbackServerContext* context,
                                                         const v1::MakeSnapshotRequest* /*request*/,
                                                         v1::MakeSnapshotResponse* response) {
  return Answer(*context, "snapshot", "", [&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(snapshot_mutex_);
    // Before the snapshot: a round that is sealed after it would be open in it, and have a folder.
    std::vector<std::string> sealed;
    BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, parts_.store.ListRounds());
    for (const v1::Round& round : rounds) {
      if (round.state() != v1::ROUND_STATE_OPEN) sealed.push_back(round.round_id());
    }
    RemoveOldSnapshots(parts_.data_folder);
    BLINK_ASSIGN_OR_RETURN(const std::string folder, NewSnapshotFolder(parts_.data_folder));
    BLINK_RETURN_IF_ERROR(parts_.store.MakeSnapshot(folder));
    response->set_folder(folder);
    for (std::string& id : sealed) response->add_round_ids(std::move(id));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminServiceImpl::Drain(grpc::CallbackServerContext* context, const v1::DrainRequest* request,
                                                  v1::DrainResponse* response) {
  return Answer(*context, request->undo() ? "undrain" : "drain", "", [&] {
    parts_.set_draining(!request->undo());
    spdlog::info(request->undo() ? "serving again" : "draining: no new report or round is taken");
    response->set_reports_in_flight(parts_.ingest.reports_in_flight());
    response->set_worker_runs(parts_.pipeline.GetActivity().worker.has_value());
    return absl::OkStatus();
  });
}

}  // namespace blink
