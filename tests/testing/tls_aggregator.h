// A fixture: a whole aggregator in process, which clients reach over real gRPC with mutual TLS. Its worker is a script.
#ifndef BLINK_TESTS_TESTING_TLS_AGGREGATOR_H_
#define BLINK_TESTS_TESTING_TLS_AGGREGATOR_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator_server/main/aggregator.h"
#include "blink/v1/node.grpc.pb.h"
#include "blink/v1/operator.grpc.pb.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/certificates.h"
#include "tests/testing/grpc_environment.h"
#include "tests/testing/places.h"
#include "tests/testing/small_attributes.h"
#include "tests/testing/temp_folder.h"

namespace blink::testing {

class TlsAggregatorTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kNodes = 40;

  void SetUp() override {
    options_.attributes_folder = folder_ / "attributes";
    ASSERT_TRUE(WriteSmallAttributes(kNodes, options_.attributes_folder).ok());
    std::ofstream(options_.attributes_folder + "/behaviour") << "wait";
    options_.data_folder = folder_ / "data";
    options_.deployment = {"demo", kNodes, 1};
    options_.worker_path = InSources("tests/unit/rounds/fake_worker.sh");
    options_.limits.report_time_max = absl::Seconds(2);
    const auto authority = CreateAuthority("test authority", absl::Hours(1));
    ASSERT_TRUE(authority.ok()) << authority.status();
    authority_ = *authority;
    options_.server.tls = Certify("blink://demo/aggregator", /*server=*/true);
    StartAggregator();
    round_id_ = CreateRound();
  }
  void StartAggregator() {
    aggregator_.reset();
    auto aggregator = Aggregator::Start(options_, clock_);
    ASSERT_TRUE(aggregator.ok()) << aggregator.status();
    aggregator_ = *std::move(aggregator);
  }

  TlsFiles Certify(const std::string& uri, bool server = false) {
    const std::string base = folder_ / absl::StrCat("tls-", certificates_++);
    CertificateOptions certificate{.uri_san = uri, .server = server};
    if (server) certificate.ip_addresses = {"127.0.0.1"};
    return WriteTlsFiles({base + ".crt", base + ".key", base + ".ca"}, authority_, authority_.certificate, certificate);
  }
  std::shared_ptr<grpc::Channel> Channel(const std::string& uri) {
    if (files_.count(uri) == 0) files_[uri] = Certify(uri);
    auto credentials = MakeClientCredentials(files_[uri], "demo");
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return MakeChannel(absl::StrCat("127.0.0.1:", aggregator_->port()), *credentials);
  }
  std::unique_ptr<v1::NodeService::Stub> Node(const std::string& who = "nodes/0-39") {
    return v1::NodeService::NewStub(Channel("blink://demo/" + who));
  }
  std::unique_ptr<v1::OperatorService::Stub> Operator(const std::string& who = "operator/ann") {
    return v1::OperatorService::NewStub(Channel("blink://demo/" + who));
  }

  std::string CreateRound(const std::string& who = "operator/ann") {
    v1::CreateRoundRequest request;
    request.set_deployment("demo");
    request.mutable_parameters()->set_epsilon_micro(6'000'000);
    request.mutable_parameters()->set_degree_share_ppm(100'000);
    request.set_open_for_ms(60'000);
    grpc::ClientContext context;
    v1::Round round;
    const grpc::Status status = Operator(who)->CreateRound(&context, request, &round);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return round.round_id();
  }
  v1::Round Status() {
    v1::GetRoundStatusRequest request;
    request.set_deployment("demo");
    request.set_round_id(round_id_);
    grpc::ClientContext context;
    v1::Round round;
    const grpc::Status status = Operator()->GetRoundStatus(&context, request, &round);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return round;
  }

  TempFolder folder_;
  ManualClock clock_;
  AggregatorOptions options_;
  CertificateAuthority authority_;
  int certificates_ = 0;
  std::map<std::string, TlsFiles> files_;
  std::unique_ptr<Aggregator> aggregator_;
  std::string round_id_;
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_TLS_AGGREGATOR_H_
