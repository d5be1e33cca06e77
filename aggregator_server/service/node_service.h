// NodeService over gRPC's callback API: no thread waits for a peer, so that idle connections cost memory only. It only
// takes messages apart and puts them together; Ingest decides what is allowed.
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_NODE_SERVICE_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_NODE_SERVICE_H_

#include "aggregator_server/ingest/ingest.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/transport/authenticator.h"
#include "aggregator_server/transport/stream_timer.h"
#include "blink/v1/node.grpc.pb.h"

namespace blink {

class NodeServiceImpl final : public v1::NodeService::CallbackService {
 public:
  // All outlive the server that serves this.
  NodeServiceImpl(const Authenticator& authenticator, Ingest& ingest, ReportStore& store)
      : authenticator_(authenticator), ingest_(ingest), store_(store) {}

  grpc::ServerUnaryReactor* GetRounds(grpc::CallbackServerContext* context, const v1::GetRoundsRequest* request,
                                      v1::GetRoundsResponse* response) override;
  grpc::ServerUnaryReactor* NoteForeignReport(grpc::CallbackServerContext* context,
                                              const v1::NoteForeignReportRequest* request,
                                              v1::NoteForeignReportResponse* response) override;
  grpc::ServerUnaryReactor* GetGroups(grpc::CallbackServerContext* context, const v1::GetGroupsRequest* request,
                                      v1::GetGroupsResponse* response) override;
  grpc::ServerReadReactor<v1::SubmitReportRequest>* SubmitReport(grpc::CallbackServerContext* context,
                                                                 v1::SubmitReportResponse* response) override;
  grpc::ServerBidiReactor<v1::SubmitReportsRequest, v1::SubmitReportsResponse>* SubmitReports(
      grpc::CallbackServerContext* context) override;
  grpc::ServerWriteReactor<v1::ListDigestsResponse>* ListDigests(grpc::CallbackServerContext* context,
                                                                 const v1::ListDigestsRequest* request) override;

 private:
  absl::Status FillRounds(const grpc::ServerContextBase& context, const v1::GetRoundsRequest& request,
                          v1::GetRoundsResponse& response);
  absl::Status FillGroups(const grpc::ServerContextBase& context, const v1::GetGroupsRequest& request,
                          v1::GetGroupsResponse& response);
  // Ends a call that has one request and one answer, which is filled.
  grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext& context, const absl::Status& filled);

  const Authenticator& authenticator_;
  Ingest& ingest_;
  ReportStore& store_;
  StreamTimer timer_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_NODE_SERVICE_H_
