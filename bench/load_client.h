// The senders of ingest_bench: real reports, connections with a certificate each, and two ways to send.
//
//   RunCalls     one call a report, so many at a time, in turn over all connections
//   RunStreams   gateways, each with one stream of reports; what was refused is sent again within its retry window
#ifndef BLINK_BENCH_LOAD_CLIENT_H_
#define BLINK_BENCH_LOAD_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "blink/v1/node.grpc.pb.h"
#include "common/pki/pki.h"
#include "common/privacy/parameters.h"
#include "common/rpc/credentials.h"

namespace blink::load {

// A benchmark that cannot be set up says why and ends.
template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "ingest_bench: %s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}
inline void Must(const absl::Status& status) {
  if (!status.ok()) Must(absl::StatusOr<int>(status));
}

struct Message {
  v1::ReportHeader header;
  std::string coded_bits;
};

// epsilon = 6, degree share 0.1.
PrivacyParameters LoadParameters(uint32_t nodes);
// Real reports of the nodes 0 .. reports - 1, each of a list of ten links.
std::vector<Message> DrawReports(const std::string& deployment, uint32_t nodes, int reports);

// Credentials with a new key, and a certificate of this name. They lie in memory alone: there may be thousands.
std::shared_ptr<grpc::ChannelCredentials> Certify(const CertificateAuthority& authority, const std::string& uri);
// For so many senders: each gets the certificate of a share of the messages.
std::vector<std::shared_ptr<grpc::ChannelCredentials>> CertifySenders(const CertificateAuthority& authority,
                                                                      const std::string& deployment, size_t senders,
                                                                      size_t messages);

using Stubs = std::vector<std::unique_ptr<v1::NodeService::Stub>>;

// A connection for each of the credentials, a few hundred at a time. UNAVAILABLE: not within 30 s.
absl::StatusOr<Stubs> Connect(int port, const std::vector<std::shared_ptr<grpc::ChannelCredentials>>& credentials);

// Of `count` shares of the messages the one of message `index`: neighbouring nodes share a certificate.
inline size_t ShareOf(size_t index, size_t count, size_t messages) { return index * count / messages; }

// Called for every report that was acknowledged with the right digest; from any thread.
using Acknowledged = std::function<void(const std::string& round_id, const Message& message)>;

struct CallRun {
  double seconds = 0;
  std::vector<float> latency_ms;  // by message
};
// The first report that is not acknowledged ends it, and its status is returned. Without `acknowledged` nobody looks at
// the receipts.
absl::StatusOr<CallRun> RunCalls(const Stubs& stubs, const std::vector<Message>& messages, const std::string& round_id,
                                 int in_flight, const Acknowledged& acknowledged);

struct StreamRun {
  double seconds = 0;
  uint64_t acknowledged = 0;
  uint64_t refused = 0;  // and sent again
};
// All messages for each of the rounds, in turn.
absl::StatusOr<StreamRun> RunStreams(const Stubs& gateways, const std::vector<Message>& messages,
                                     const std::vector<std::string>& round_ids, const Acknowledged& acknowledged);

}  // namespace blink::load

#endif  // BLINK_BENCH_LOAD_CLIENT_H_
