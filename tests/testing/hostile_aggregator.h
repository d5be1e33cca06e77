// An aggregator that misbehaves as a test tells it, over real gRPC with mutual TLS, in this process.
//
//   HostileAggregator aggregator(port 0)         honest until a hook says otherwise: holds what arrives, gives receipts
//   aggregator.service.rounds = {...}            what it offers, in whatever state
//   aggregator.service.tamper_receipt = ...      one lie
//   aggregator.service.calls, .reports           everything that it saw
//
// Hooks run on gRPC's threads, under the service's lock; a node makes one call at a time, so that a test may look at
// what was seen when the node's run has ended.
#ifndef BLINK_TESTS_TESTING_HOSTILE_AGGREGATOR_H_
#define BLINK_TESTS_TESTING_HOSTILE_AGGREGATOR_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "blink/v1/node.grpc.pb.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"

namespace blink::testing {

class HostileService final : public v1::NodeService::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::SubmitReportsResponse, v1::SubmitReportsRequest>;
  using DigestWriter = grpc::ServerWriter<v1::ListDigestsResponse>;
  enum class Method { kNone, kGetRounds, kSubmitReport, kSubmitReports, kListDigests };

  struct SeenReport {
    v1::ReportHeader header;
    std::string bits;
    // What must be the same at every sending: all but the name of the round.
    std::string Content() const;
  };

  // What it offers: those in state OPEN to a node that asks for all, any to a node that names it.
  std::vector<v1::NodeRound> rounds;
  std::string groups;  // of any round that is asked for, coded
  // Answers instead of the honest one, when not OK.
  std::function<grpc::Status(grpc::ServerContext*, const v1::GetRoundsRequest&)> before_poll;
  std::function<grpc::Status(const v1::ReportHeader&)> before_take;  // the report is not held
  std::function<grpc::Status(const v1::ReportHeader&)> after_take;   // it is
  // Changes an honest answer.
  std::function<void(const v1::GetRoundsRequest&, v1::GetRoundsResponse*)> tamper_rounds;
  std::function<void(const v1::GetGroupsRequest&, v1::GetGroupsResponse*)> tamper_groups;
  std::function<void(v1::Receipt*)> tamper_receipt;
  std::function<void(v1::SubmitReportResponse*)> tamper_response;
  // Replaces the whole stream.
  std::function<grpc::Status(const v1::ListDigestsRequest&, DigestWriter*)> list_digests;
  std::function<grpc::Status(Stream*)> submit_reports;
  // Never answers calls of this method; with `unread`, does not even read them.
  std::atomic<Method> hang{Method::kNone};
  std::atomic<bool> unread{false};

  // Everything that it saw. A call's line holds its size in bytes before coding: without digest, noisy degree and coded
  // bits.
  std::vector<std::string> calls;
  std::vector<SeenReport> reports;
  std::map<std::string, std::map<uint64_t, SeenReport>> held;  // by round and node

  size_t Polls() const;  // calls of GetRounds that name no round

  grpc::Status GetRounds(grpc::ServerContext* context, const v1::GetRoundsRequest* request,
                         v1::GetRoundsResponse* response) override;
  grpc::Status GetGroups(grpc::ServerContext* context, const v1::GetGroupsRequest* request,
                         v1::GetGroupsResponse* response) override;
  grpc::Status SubmitReport(grpc::ServerContext* context, grpc::ServerReader<v1::SubmitReportRequest>* reader,
                            v1::SubmitReportResponse* response) override;
  grpc::Status SubmitReports(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status ListDigests(grpc::ServerContext* context, const v1::ListDigestsRequest* request,
                           DigestWriter* writer) override;

 private:
  bool HangsIn(Method method, grpc::ServerContext* context) const;
  grpc::Status Take(SeenReport report, v1::Receipt* receipt);
  std::mutex mutex_;
};

// The service behind a server of its own, and the certificates of its deployment "demo".
class HostileAggregator {
 public:
  HostileAggregator();
  ~HostileAggregator();
  std::string address() const;
  int port() const { return port_; }
  // Makes tls/ of a kit in `folder`, for the URI blink://demo/<who>.
  void MakeTls(const std::string& folder, const std::string& who) const;

  HostileService service;

 private:
  std::string folder_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Forwards bytes between a node and an aggregator, and cuts its connections with a TCP reset when told.
class ResettingProxy {
 public:
  explicit ResettingProxy(int target_port);
  ~ResettingProxy();
  std::string address() const;
  void Reset();  // returns when every connection made before is gone

 private:
  void Accept();
  void Forward(int node, int resets_before);
  const int target_port_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> quit_{false};
  std::atomic<int> resets_{0};
  std::mutex mutex_;
  std::multiset<int> made_after_;        // how many resets came before each connection that is open
  std::vector<std::thread> forwarders_;  // the acceptor's
  std::thread acceptor_;
};

// Accepts connections, from Open on, and never says a word. Before that it keeps its port, and refuses.
class SilentServer {
 public:
  explicit SilentServer(bool open = true);
  ~SilentServer();
  void Open();
  std::string address() const;

 private:
  int listener_ = -1, port_ = 0;
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_HOSTILE_AGGREGATOR_H_
