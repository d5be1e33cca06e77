// AdminService: what the aggregator's own user asks over the socket in the data folder.
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_ADMIN_SERVICE_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_ADMIN_SERVICE_H_

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/audit_log/audit_log.h"
#include "aggregator_server/ingest/ingest.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/transport/authenticator.h"
#include "blink/v1/admin.grpc.pb.h"

namespace blink {

class AdminServiceImpl final : public v1::AdminService::CallbackService {
 public:
  // All outlive the server that serves this.
  struct Parts {
    const Authenticator& authenticator;
    ReportStore& store;
    Ingest& ingest;
    Pipeline& pipeline;
    AuditLog& audit_log;
    std::string data_folder;
    std::function<void(bool)> set_draining;
  };
  explicit AdminServiceImpl(Parts parts) : parts_(std::move(parts)) {}

  grpc::ServerUnaryReactor* MakeSnapshot(grpc::CallbackServerContext* context, const v1::MakeSnapshotRequest* request,
                                         v1::MakeSnapshotResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context, const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;

 private:
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context, const char* action, const std::string& detail,
                                   const std::function<absl::Status()>& act);

  const Parts parts_;
  std::mutex snapshot_mutex_;  // one at a time
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_ADMIN_SERVICE_H_
