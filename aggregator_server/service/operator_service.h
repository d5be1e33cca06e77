// OperatorService: every call needs an operator's certificate of the deployment, whose role allows it. What changes a
// round, and whoever fetches a result, is in the audit log.
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_OPERATOR_SERVICE_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_OPERATOR_SERVICE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/audit_log/audit_log.h"
#include "aggregator_server/ingest/refused_reports.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/transport/authenticator.h"
#include "aggregator_server/transport/stream_timer.h"
#include "blink/v1/operator.grpc.pb.h"

namespace blink {

class OperatorServiceImpl final : public v1::OperatorService::CallbackService {
 public:
  // All outlive the server that serves this.
  OperatorServiceImpl(const Authenticator& authenticator, Pipeline& pipeline, RefusedReports& refused_reports,
                      AuditLog& audit_log)
      : authenticator_(authenticator), pipeline_(pipeline), refused_reports_(refused_reports), audit_log_(audit_log) {}

  // From now on no round is created or retried, or again.
  void SetDraining(bool draining) { draining_ = draining; }

  grpc::ServerUnaryReactor* CreateRound(grpc::CallbackServerContext* context, const v1::CreateRoundRequest* request,
                                        v1::Round* response) override;
  grpc::ServerUnaryReactor* ListRounds(grpc::CallbackServerContext* context, const v1::ListRoundsRequest* request,
                                       v1::ListRoundsResponse* response) override;
  grpc::ServerUnaryReactor* GetRoundStatus(grpc::CallbackServerContext* context,
                                           const v1::GetRoundStatusRequest* request, v1::Round* response) override;
  grpc::ServerUnaryReactor* SealRound(grpc::CallbackServerContext* context, const v1::SealRoundRequest* request,
                                      v1::Round* response) override;
  grpc::ServerUnaryReactor* CancelRound(grpc::CallbackServerContext* context, const v1::CancelRoundRequest* request,
                                        v1::Round* response) override;
  grpc::ServerUnaryReactor* RetryRound(grpc::CallbackServerContext* context, const v1::RetryRoundRequest* request,
                                       v1::Round* response) override;
  grpc::ServerUnaryReactor* DeleteRound(grpc::CallbackServerContext* context, const v1::DeleteRoundRequest* request,
                                        v1::Round* response) override;
  grpc::ServerUnaryReactor* ListMissingNodes(grpc::CallbackServerContext* context,
                                             const v1::ListMissingNodesRequest* request,
                                             v1::ListMissingNodesResponse* response) override;
  grpc::ServerUnaryReactor* ListRefusedReports(grpc::CallbackServerContext* context,
                                               const v1::ListRefusedReportsRequest* request,
                                               v1::ListRefusedReportsResponse* response) override;
  grpc::ServerWriteReactor<v1::Round>* WatchRound(grpc::CallbackServerContext* context,
                                                  const v1::WatchRoundRequest* request) override;
  grpc::ServerWriteReactor<v1::GetResultResponse>* GetResult(grpc::CallbackServerContext* context,
                                                             const v1::GetResultRequest* request) override;

 private:
  struct Call {
    grpc::CallbackServerContext* context;
    std::string deployment;  // as the request names it
    Role needed;
    const char* action;
    std::string round_id;  // that is acted on; empty: none yet
    std::string detail;    // for the audit log
    bool names_round = false;
  };
  using Act = std::function<absl::Status(const std::string& by, std::string& round_id)>;

  // Answers a call that changes something: who may, asked, done, answered.
  grpc::ServerUnaryReactor* Change(const Call& call, const google::protobuf::Message& request, const Act& act);
  // Answers a call that reads.
  grpc::ServerUnaryReactor* Read(const Call& call, const google::protobuf::Message& request,
                                 const std::function<absl::Status()>& read);
  // Who asks, if that is allowed and well-formed. The audit log has a refusal.
  absl::StatusOr<Identity> Allow(const Call& call, const google::protobuf::Message& request);
  absl::Status CheckTakesRounds() const;
  absl::Status CheckIsCreator(const Identity& who, const std::string& round_id);
  // One of the few results that an operator may fetch at a time, until it is let go. RESOURCE_EXHAUSTED: all are taken.
  absl::StatusOr<std::shared_ptr<void>> TakeResultSlot(const std::string& who);
  AuditRecord RecordOf(const Call& call, const std::string& event) const;

  const Authenticator& authenticator_;
  Pipeline& pipeline_;
  RefusedReports& refused_reports_;
  AuditLog& audit_log_;
  std::atomic<bool> draining_{false};
  StreamTimer timer_;

  // Shared with the slots, which streams give back when the service may be gone.
  struct OpenResults {
    std::mutex mutex;
    std::map<std::string, int> by_operator;
  };
  const std::shared_ptr<OpenResults> open_results_ = std::make_shared<OpenResults>();
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_OPERATOR_SERVICE_H_
