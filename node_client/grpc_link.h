// AggregatorLink over gRPC. Every call has a deadline, and everything that arrives has a limit.
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
  absl::Duration call_deadline = absl::Seconds(30);   // GetRounds, and each part of GetGroups
  absl::Duration stream_deadline = absl::Minutes(5);  // a whole stream: SubmitReport, SubmitReports, ListDigests
  int reports_in_flight_max = 256;                    // of SubmitReports
  uint64_t bytes_in_flight_max = 4 << 20;             // of SubmitReports; one report is always allowed
};

class GrpcLink final : public AggregatorLink {
 public:
  // Uses mTLS with the kit's files, or plaintext to loopback when the kit says so. Connects at the first call. Returns
  // the errors of MakeClientCredentials and RequireLoopback.
  static absl::StatusOr<std::unique_ptr<GrpcLink>> Create(const KitConfig& kit, GrpcLinkOptions options = {});
  // Uses a channel made elsewhere (for tests). `connect`, when given, makes a new channel when the old one broke or
  // when the certificate was replaced. It may return nullptr, to keep the old channel for now.
  GrpcLink(std::shared_ptr<grpc::Channel> channel, const KitConfig& kit, GrpcLinkOptions options = {},
           std::function<std::shared_ptr<grpc::Channel>()> connect = nullptr);

  LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) override;
  LinkResult<std::string> GetGroups(NodeIndex node, const std::string& round_id, uint64_t bytes) override;
  LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) override;
  LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next, const OnReply& on_reply) override;
  LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                               const OnDigest& on_digest) override;
  void NoteForeignReport(const std::string& round_id, NodeIndex node) override;

  // Ends the call in progress and every later one at once, with CANCELLED. May be called from any thread.
  void Cancel();

 private:
  class Call;
  void FillHeader(const std::string& round_id, const OutgoingReport& report, v1::ReportHeader* header) const;
  std::string ReadStampOfFiles() const;  // changes with certificate and key
  // Warns once a day when certificate or CA expire within 30 days.
  void RemindOfExpiry();
  // The status for a failed call, with the reason why a handshake failed where that can be found out.
  absl::Status ExplainFailure(const grpc::Status& reply);

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
  absl::Status explained_;
  std::string explanation_;
  absl::Time reminded_at_ = absl::InfinitePast();
  ExpiryReminder reminder_;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_GRPC_LINK_H_
