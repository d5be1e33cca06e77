// What gRPC and TLS allow: a service that reads a report as the aggregator does, looks at nothing, keeps nothing, and
// answers with a receipt of the same size.
#ifndef BLINK_BENCH_BARE_SERVICE_H_
#define BLINK_BENCH_BARE_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "bench/load_client.h"
#include "common/wire/round.h"
#include "tests/testing/server_credentials.h"

namespace blink::load {

class BareService final : public v1::NodeService::CallbackService {
 public:
  grpc::ServerReadReactor<v1::SubmitReportRequest>* SubmitReport(grpc::CallbackServerContext*,
                                                                 v1::SubmitReportResponse* response) override {
    class Reactor final : public grpc::ServerReadReactor<v1::SubmitReportRequest> {
     public:
      explicit Reactor(v1::SubmitReportResponse& response) : response_(response) { StartRead(&request_); }
      void OnReadDone(bool ok) override {
        if (ok) return StartRead(&request_);
        v1::Receipt& receipt = *response_.mutable_receipt();
        receipt.set_round_id(std::string(32, '0'));
        receipt.set_node_id(20'000);
        receipt.set_digest(std::string(32, 'd'));
        receipt.set_received_minute(30'000'000);
        *response_.mutable_retry() = RetryWindowToProto({absl::Milliseconds(250), absl::Milliseconds(750)});
        Finish(grpc::Status::OK);
      }
      void OnDone() override { delete this; }

     private:
      v1::SubmitReportResponse& response_;
      v1::SubmitReportRequest request_;
    };
    return new Reactor(*response);
  }
};

// Serves until `wait`, which gets the port, returns.
template <typename Wait>
void ServeBareService(const TlsFiles& tls, Wait wait) {
  BareService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", Must(testing::MakeServerCredentials(tls)), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  wait(port);
  server->Shutdown(std::chrono::system_clock::now());
}

}  // namespace blink::load

#endif  // BLINK_BENCH_BARE_SERVICE_H_
