// The operator's side of OperatorService: one connection, one method a call, plain Status errors.
//
//   BLINK_ASSIGN_OR_RETURN(OperatorConfig config, LoadOperatorConfig("OUT/operator/operator.conf"));
//   BLINK_ASSIGN_OR_RETURN(OperatorClient client, OperatorClient::Connect(config));
//   BLINK_ASSIGN_OR_RETURN(v1::Round round, client.Seal(round_id));
//
// An error is the aggregator's, with its code and message, and names its address. Without an answer the error is
// UNAVAILABLE, and says what DiagnoseHandshake found out.
#ifndef BLINK_TOOLS_ROUND_OPERATOR_CLIENT_H_
#define BLINK_TOOLS_ROUND_OPERATOR_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "blink/v1/operator.grpc.pb.h"
#include "common/cli/settings.h"
#include "common/rpc/credentials.h"
#include "common/wire/roster.h"

namespace blink {

struct OperatorConfig {
  std::string aggregator;  // HOST:PORT
  std::string deployment;
  std::string proxy;  // the only way to it (http_proxy.h); empty: none is needed
  TlsFiles tls;       // unused when insecure
  bool insecure = false;
};

// Reads operator.conf: lines of key="value", with paths relative to the file's folder. Of a key that `overrides` has,
// its value counts, and paths are relative to the working folder. Returns NOT_FOUND, or INVALID_ARGUMENT naming the
// key. `printed` receives every setting and where it comes from.
struct OperatorOverrides {
  std::string aggregator, proxy;  // of flags; empty: not given
  Variables environment;
};
inline constexpr char kOperatorPrefix[] = "BLINK_OPERATOR";  // BLINK_OPERATOR_AGGREGATOR
absl::StatusOr<OperatorConfig> LoadOperatorConfig(const std::string& path, const OperatorOverrides& overrides = {},
                                                  std::string* printed = nullptr);

// Whether `status` is the aggregator's answer to a call, whatever its code. Then nothing is wrong on this machine.
bool IsAggregatorsAnswer(const absl::Status& status);

class OperatorClient {
 public:
  // Connects with the first call. Returns FAILED_PRECONDITION for unusable TLS files, and for an insecure connection
  // that is not on loopback.
  static absl::StatusOr<OperatorClient> Connect(OperatorConfig config, absl::Duration timeout = absl::Seconds(20));

  absl::StatusOr<v1::Round> Create(v1::CreateRoundRequest request);
  absl::StatusOr<std::vector<v1::Round>> List();
  absl::StatusOr<v1::Round> GetStatus(const std::string& round_id);
  absl::StatusOr<v1::Round> Seal(const std::string& round_id);
  absl::StatusOr<v1::Round> Cancel(const std::string& round_id);
  absl::StatusOr<v1::Round> Retry(const std::string& round_id, const v1::TrainingSpec& training);
  // The round as marked for deletion; `deleting` ends when all is gone.
  absl::StatusOr<v1::Round> Delete(const std::string& round_id);
  // The active nodes without a report, ascending ranges. INTERNAL: pages without end.
  absl::StatusOr<std::vector<NodeRange>> ListMissing(const std::string& round_id);
  // What was refused of a round.
  absl::StatusOr<v1::ListRefusedReportsResponse> ListRefused(const std::string& round_id);
  // Calls `seen` with the round now and at every change, and returns the round when it has ended. Connects again, with
  // jitter, when the connection breaks, for as long as `give_up_after`.
  absl::StatusOr<v1::Round> Watch(const std::string& round_id, const std::function<void(const v1::Round&)>& seen,
                                  absl::Duration give_up_after = absl::Minutes(10));
  // Calls `sink` with the pieces of the artifact. An error that `sink` returns ends the transfer.
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
