// AggregatorLink over gRPC: deadlines on every call, limits on everything that arrives, Status mapped once.
#ifndef BLINK_NODE_CLIENT_GRPC_LINK_H_
#define BLINK_NODE_CLIENT_GRPC_LINK_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "blink/v1/node.grpc.pb.h"
#include "common/rpc/credentials.h"
#include "node_client/aggregator_link.h"
#include "node_client/kit.h"

namespace blink {

struct GrpcLinkOptions {
  absl::Duration call_deadline = absl::Seconds(30);   // GetRounds
  absl::Duration stream_deadline = absl::Minutes(5);  // SubmitReport, SubmitReports, ListDigests: a whole stream
  int reports_in_flight_max = 256;                    // of SubmitReports
  uint64_t bytes_in_flight_max = 4 << 20;             // of SubmitReports, at least one report
};

class GrpcLink final : public AggregatorLink {
 public:
  // mTLS with the kit's files, or plaintext to loopback when the kit says so. Errors as MakeClientCredentials and
  // RequireLoopback give them. Connects lazily.
  static absl::StatusOr<std::unique_ptr<GrpcLink>> Create(const KitConfig& kit, GrpcLinkOptions options = {});
  // Over a channel made elsewhere (tests). `connect`, when given, makes the channel that replaces a broken one, or the
  // one of a certificate that has been replaced; nullptr: not yet, keep the old.
  GrpcLink(std::shared_ptr<grpc::Channel> channel, const KitConfig& kit, GrpcLinkOptions options = {},
           std::function<std::shared_ptr<grpc::Channel>()> connect = nullptr);

  LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) override;
  LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) override;
  LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next, const OnReply& on_reply) override;
  LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                               const OnDigest& on_digest) override;

  // Ends the call in progress and every later one at once, with CANCELLED. From any thread.
  void Cancel();

 private:
  class Call;
  void FillHeader(const std::string& round_id, const OutgoingReport& report, v1::ReportHeader* header) const;
  std::string StampOfFiles() const;                 // changes with certificate and key
  absl::Status Explain(const grpc::Status& reply);  // why a handshake failed, where that can be found out

  const KitConfig kit_;
  const GrpcLinkOptions options_;
  const std::function<std::shared_ptr<grpc::Channel>()> connect_;
  std::unique_ptr<v1::NodeService::Stub> stub_;
  std::string stamp_;    // of the files that stub_ connects with
  bool broken_ = false;  // the channel lost its connection, or found none
  std::mutex mutex_;
  grpc::ClientContext* active_ = nullptr;
  bool cancelled_ = false;
  absl::Time explained_at_ = absl::InfinitePast();
  std::string explanation_;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_GRPC_LINK_H_
