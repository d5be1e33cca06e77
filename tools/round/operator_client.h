// The operator's side of OperatorService: one connection, one method a call, plain Status errors.
//
//   BLINK_ASSIGN_OR_RETURN(OperatorConfig config, LoadOperatorConfig("OUT/operator/operator.conf"));
//   BLINK_ASSIGN_OR_RETURN(OperatorClient client, OperatorClient::Connect(config));
//   BLINK_ASSIGN_OR_RETURN(v1::Round round, client.Seal(round_id));
//
// Errors are the aggregator's, with its code and sentence, and name its address. Without an answer they are UNAVAILABLE
// and carry what DiagnoseHandshake found out.
#ifndef BLINK_TOOLS_ROUND_OPERATOR_CLIENT_H_
#define BLINK_TOOLS_ROUND_OPERATOR_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "blink/v1/operator.grpc.pb.h"
#include "common/rpc/credentials.h"

namespace blink {

struct OperatorConfig {
  std::string aggregator;  // HOST:PORT
  std::string deployment;
  TlsFiles tls;  // unused when insecure
  bool insecure = false;
};

// operator.conf: key="value" lines; relative paths start at the file's folder. NOT_FOUND, or INVALID_ARGUMENT naming
// the key.
absl::StatusOr<OperatorConfig> LoadOperatorConfig(const std::string& path);

// Whether `status` is the aggregator's answer to a call, whatever its code: nothing on this machine is wrong then.
bool IsAggregatorsAnswer(const absl::Status& status);

class OperatorClient {
 public:
  // FAILED_PRECONDITION: unusable TLS files, or insecure and not loopback.
  static absl::StatusOr<OperatorClient> Connect(OperatorConfig config, absl::Duration timeout = absl::Seconds(20));

  absl::StatusOr<v1::Round> Create(v1::CreateRoundRequest request);
  absl::StatusOr<std::vector<v1::Round>> List();
  absl::StatusOr<v1::Round> GetStatus(const std::string& round_id);
  absl::StatusOr<v1::Round> Seal(const std::string& round_id);
  absl::StatusOr<v1::Round> Cancel(const std::string& round_id);
  // Calls `seen` with the round now and at every change; returns it when it has ended. A connection that breaks is made
  // anew, with jitter, for as long as `give_up_after`.
  absl::StatusOr<v1::Round> Watch(const std::string& round_id, const std::function<void(const v1::Round&)>& seen,
                                  absl::Duration give_up_after = absl::Minutes(10));
  // The artifact, piece by piece. What `sink` returns ends the transfer.
  absl::Status Fetch(const std::string& round_id, const std::string& artifact,
                     const std::function<absl::Status(const std::string&)>& sink);

 private:
  OperatorClient(OperatorConfig config, absl::Duration timeout) : config_(std::move(config)), timeout_(timeout) {}
  template <typename Request>
  using Method = grpc::Status (v1::OperatorService::Stub::*)(grpc::ClientContext*, const Request&, v1::Round*);
  template <typename Request>
  absl::StatusOr<v1::Round> Call(Method<Request> method, Request request);
  template <typename Request>
  absl::StatusOr<v1::Round> CallFor(Method<Request> method, const std::string& round_id);
  absl::Status Explain(const grpc::Status& status) const;
  void MakeStub();

  OperatorConfig config_;
  absl::Duration timeout_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::unique_ptr<v1::OperatorService::Stub> stub_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_ROUND_OPERATOR_CLIENT_H_
