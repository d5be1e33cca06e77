// OperatorService: every call needs an operator's certificate of the deployment.
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_OPERATOR_SERVICE_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_OPERATOR_SERVICE_H_

#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/transport/authenticator.h"
#include "blink/v1/operator.grpc.pb.h"

namespace blink {

class OperatorServiceImpl final : public v1::OperatorService::CallbackService {
 public:
  // Both outlive the server that serves this.
  OperatorServiceImpl(const Authenticator& authenticator, Pipeline& pipeline)
      : authenticator_(authenticator), pipeline_(pipeline) {}

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
  grpc::ServerUnaryReactor* ListMissingNodes(grpc::CallbackServerContext* context,
                                             const v1::ListMissingNodesRequest* request,
                                             v1::ListMissingNodesResponse* response) override;
  grpc::ServerWriteReactor<v1::Round>* WatchRound(grpc::CallbackServerContext* context,
                                                  const v1::WatchRoundRequest* request) override;
  grpc::ServerWriteReactor<v1::GetResultResponse>* GetResult(grpc::CallbackServerContext* context,
                                                             const v1::GetResultRequest* request) override;

 private:
  const Authenticator& authenticator_;
  Pipeline& pipeline_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_OPERATOR_SERVICE_H_
