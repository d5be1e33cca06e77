// The node's half of the protocol over real gRPC, with mutual TLS, against a scripted NodeService in this process.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "blink/v1/node.grpc.pb.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/status.h"
#include "common/wire/retry_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/agent.h"
#include "node_client/grpc_link.h"
#include "tests/testing/certificates.h"
#include "tests/testing/grpc_environment.h"
#include "tests/testing/server_credentials.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

// Holds reports in memory; misbehaves on request.
class ScriptedService final : public v1::NodeService::Service {
 public:
  grpc::Status GetRounds(grpc::ServerContext* context, const v1::GetRoundsRequest* request,
                         v1::GetRoundsResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex);
    ++polls;
    if (hang) {
      while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return grpc::Status::CANCELLED;
    }
    if (!refuse.ok()) {
      SetTrailingWindow(*context, RetryWindow{absl::Milliseconds(5), absl::Milliseconds(10)});
      return ToGrpcStatus(refuse);
    }
    for (v1::NodeRound round : rounds) {
      if (request->round_id().empty() ? round.state() != v1::ROUND_STATE_OPEN : round.round_id() != request->round_id())
        continue;
      const auto it = held.find(request->node_id());
      if (it != held.end()) round.set_held_digest(DigestToBytes(it->second.digest));
      *response->add_rounds() = round;
    }
    response->mutable_retry()->set_min_ms(1);
    response->mutable_retry()->set_max_ms(20);
    return grpc::Status::OK;
  }
  grpc::Status SubmitReport(grpc::ServerContext* context, grpc::ServerReader<v1::SubmitReportRequest>* reader,
                            v1::SubmitReportResponse* response) override {
    v1::SubmitReportRequest request;
    if (!reader->Read(&request) || !request.has_header()) return grpc::Status(grpc::INVALID_ARGUMENT, "no header");
    const v1::ReportHeader header = request.header();
    std::string bits;
    while (reader->Read(&request)) {
      EXPECT_LE(request.chunk().size(), kChunkBytesMax);
      bits += request.chunk();
    }
    const auto receipt = Take(header, bits);
    if (!receipt.ok()) return ToGrpcStatus(receipt.status());
    *response->mutable_receipt() = *receipt;
    return grpc::Status::OK;
  }
  grpc::Status SubmitReports(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::SubmitReportsResponse, v1::SubmitReportsRequest>* stream) override {
    v1::SubmitReportsRequest request;
    std::vector<v1::SubmitReportsResponse> waiting;
    auto flush = [&] {  // out of order, as a group commit may
      for (auto it = waiting.rbegin(); it != waiting.rend(); ++it) stream->Write(*it);
      waiting.clear();
    };
    while (stream->Read(&request)) {
      v1::SubmitReportsResponse response;
      response.set_node_id(request.header().node_id());
      const auto receipt = foreign_replies ? absl::UnavailableError("") : Take(request.header(), request.coded_bits());
      if (receipt.ok()) {
        *response.mutable_receipt() = *receipt;
      } else {
        response.mutable_refusal()->set_code(static_cast<uint32_t>(receipt.status().code()));
        response.mutable_refusal()->set_message(std::string(receipt.status().message()));
      }
      if (foreign_replies) response.set_node_id(33);
      waiting.push_back(response);
      if (first_comes_last && waiting.size() == 2) {
        stream->Write(waiting.back());
        waiting.pop_back();
      }
      if (waiting.size() >= 4) flush();
      if (break_stream_after > 0 && --break_stream_after == 0)
        return grpc::Status(grpc::UNAVAILABLE, "the stream broke");
    }
    flush();
    return grpc::Status::OK;
  }
  grpc::Status ListDigests(grpc::ServerContext*, const v1::ListDigestsRequest* request,
                           grpc::ServerWriter<v1::ListDigestsResponse>* writer) override {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [node, report] : held) {
      if (hides_held || node < request->first_node() || node > request->last_node()) continue;
      v1::ListDigestsResponse response;
      response.set_node_id(node);
      response.set_digest(DigestToBytes(report.digest));
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  std::mutex mutex;
  std::vector<v1::NodeRound> rounds;
  std::map<NodeIndex, CodedReport> held;
  uint32_t expected_reports = 1;
  int polls = 0, submissions = 0, break_stream_after = 0;
  bool hang = false, foreign_replies = false, hides_held = false, first_comes_last = false;
  absl::Status refuse;

 private:
  absl::StatusOr<v1::Receipt> Take(const v1::ReportHeader& header, const std::string& bits) {
    const std::lock_guard<std::mutex> lock(mutex);
    ++submissions;
    const auto parameters = ParametersFromProto(header.parameters());
    if (!parameters.ok()) return parameters.status();
    CodedReport report{bits, std::nullopt, {}};
    if (header.has_noisy_degree()) report.noisy_degree = header.noisy_degree();
    report.digest = *DigestFromBytes(header.digest());
    EXPECT_EQ(header.deployment(), "demo");
    EXPECT_EQ(header.coded_bytes(), bits.size());
    const auto decoded = DecodeReport(*parameters, header.node_id(), report);
    if (!decoded.ok()) return decoded.status();
    const auto [it, added] = held.emplace(header.node_id(), report);
    if (!added && it->second.digest != report.digest) return absl::AlreadyExistsError("another report is held");
    if (held.size() == expected_reports) rounds[0].set_state(v1::ROUND_STATE_SEALED);
    v1::Receipt receipt;
    receipt.set_round_id(header.round_id());
    receipt.set_node_id(header.node_id());
    receipt.set_digest(header.digest());
    receipt.set_received_minute(28'333'333);
    return receipt;
  }
};

class NodeOverGrpc : public ::testing::Test {
 protected:
  void SetUp() override {
    auto authority = CreateAuthority("demo", absl::Hours(1));
    ASSERT_TRUE(authority.ok());
    const TlsFiles server = Certify(*authority, folder_ / "server", "blink://demo/aggregator", true);
    auto credentials = testing::MakeServerCredentials(server);
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    grpc::ServerBuilder builder;
    AllowKeepalive(builder);
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    authority_ = *authority;
    options_.retry = RetryPolicy{absl::Milliseconds(5), absl::Milliseconds(50)};
    options_.give_up_after = absl::Seconds(60);
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }
  TlsFiles Certify(const CertificateAuthority& authority, const std::string& folder, const std::string& san,
                   bool server) {
    const std::string base = folder + (server ? "/server" : "/client");
    return testing::WriteTlsFiles({base + ".crt", base + ".key", folder + "/ca.crt"}, authority, authority.certificate,
                                  {.uri_san = san, .server = server});
  }
  Kit MakeTlsKit(NodeIndex first, NodeIndex last, uint32_t node_count = 34) {
    Kit kit = MakeKit(first, last, 0, node_count);
    kit.config.insecure = false;
    kit.config.aggregator = absl::StrCat("127.0.0.1:", port_);
    kit.config.folder = folder_ / "kit";
    Certify(authority_, folder_ / "kit/tls", "blink://demo/" + SanTail(kit), false);
    return kit;
  }
  static std::string SanTail(const Kit& kit) {
    return kit.config.is_gateway() ? absl::StrCat("nodes/", kit.config.first_node, "-", kit.config.last_node)
                                   : absl::StrCat("node/", kit.config.first_node);
  }
  void Offer(const RoundView& round) { service_.rounds.push_back(RoundViewToProto(round)); }
  AgentOutcome Run(const Kit& kit, const GrpcLinkOptions& link_options = {}) {
    const std::string folder = folder_ / "journal";
    if (!std::filesystem::exists(folder)) {
      EXPECT_TRUE(CreateJournal(folder, IdentityOf(kit)).ok());
    }
    auto journal = Journal::Open(folder, IdentityOf(kit));
    EXPECT_TRUE(journal.ok()) << journal.status();
    auto link = GrpcLink::Create(kit.config, link_options);
    EXPECT_TRUE(link.ok()) << link.status();
    const AgentOutcome outcome = Agent(kit, **journal, **link, SystemClock(), SecureRandom(), options_).Run();
    draws_ = (*journal)->draws();
    receipts_ = (*journal)->receipts();
    return outcome;
  }

  TempFolder folder_;
  CertificateAuthority authority_;
  ScriptedService service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  AgentOptions options_;
  uint64_t draws_ = 0, receipts_ = 0;
};

TEST_F(NodeOverGrpc, ANodeReports) {
  Offer(MakeRound(kRoundA));
  const AgentOutcome outcome = Run(MakeTlsKit(7, 7));
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.message;
  EXPECT_EQ(service_.held.size(), 1u);
  EXPECT_EQ(receipts_, 1u);
}

TEST_F(NodeOverGrpc, AReportOfManyChunksArrivesWhole) {
  const uint32_t n = 2'000'000;  // 250 kB of nearly fair coins: four chunks
  Offer(MakeRound(kRoundA, 1, 500'000, n));
  Kit kit = MakeTlsKit(7, 7, n);
  const AgentOutcome outcome = Run(kit);
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.message;
  EXPECT_GT(service_.held[7].coded_bits.size(), 3u * kChunkBytesMax);
}

TEST_F(NodeOverGrpc, AGatewayReportsForItsRangeWithFewInFlight) {
  Offer(MakeRound(kRoundA));
  service_.expected_reports = 30;
  GrpcLinkOptions options;
  options.reports_in_flight_max = 6;
  const AgentOutcome outcome = Run(MakeTlsKit(3, 32), options);
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.message;
  EXPECT_EQ(service_.submissions, 30);
  EXPECT_EQ(receipts_, 30u);
}

TEST_F(NodeOverGrpc, ABrokenStreamIsTakenUpAgainWithWhatIsMissing) {
  Offer(MakeRound(kRoundA));
  service_.expected_reports = 30;
  service_.break_stream_after = 11;
  const AgentOutcome outcome = Run(MakeTlsKit(3, 32));
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.message;
  EXPECT_GE(service_.submissions, 30);
  EXPECT_LE(service_.submissions, 41) << "of what ListDigests named, only what lacks its receipt is sent again";
  EXPECT_EQ(receipts_, 30u);
  EXPECT_EQ(draws_, 30u);
}

TEST_F(NodeOverGrpc, ARefusalInAStreamIsReported) {
  Offer(MakeRound(kRoundA));
  service_.expected_reports = 30;
  service_.held[5] = CodedReport{"other", 1, Sha256Of("other")};
  service_.hides_held = true;  // as if it had arrived after the question
  const AgentOutcome outcome = Run(MakeTlsKit(3, 32));
  EXPECT_EQ(outcome.code, ExitCode::kRefusedByPeer);
  EXPECT_THAT(outcome.message, HasSubstr("another report is held"));
}

TEST_F(NodeOverGrpc, AGatewayIsToldOfAReportThatItNeverDrewAndDrawsNothing) {
  Offer(MakeRound(kRoundA));
  service_.expected_reports = 30;
  service_.held[5] = CodedReport{"other", 1, Sha256Of("other")};
  const AgentOutcome outcome = Run(MakeTlsKit(3, 32));
  EXPECT_EQ(outcome.code, ExitCode::kJournal);
  EXPECT_THAT(outcome.message, HasSubstr("holds a report of node 5"));
  EXPECT_EQ(draws_, 0u);
  EXPECT_EQ(service_.submissions, 0);
}

TEST_F(NodeOverGrpc, RepliesForReportsThatWereNotSentAreNotBelieved) {
  Offer(MakeRound(kRoundA));
  service_.expected_reports = 30;
  service_.foreign_replies = true;
  options_.give_up_after = absl::Milliseconds(300);
  const AgentOutcome outcome = Run(MakeTlsKit(3, 30));
  EXPECT_EQ(outcome.code, ExitCode::kUnreachable);
  EXPECT_EQ(receipts_, 0u);
}

// The first report is large, and its answer comes last.
TEST_F(NodeOverGrpc, TheBytesInFlightAreBoundedWhateverTheOrderOfTheAnswers) {
  Offer(MakeRound(kRoundA));
  service_.first_comes_last = true;
  GrpcLinkOptions options;
  options.bytes_in_flight_max = 1000;
  auto link = GrpcLink::Create(MakeTlsKit(0, 29).config, options);
  ASSERT_TRUE(link.ok());
  std::map<NodeIndex, uint64_t> in_flight;
  uint64_t bytes = 0, bytes_max = 0;
  NodeIndex node = 0;
  const auto next = [&]() -> absl::StatusOr<std::optional<OutgoingReport>> {
    bytes_max = std::max(bytes_max, bytes);  // the report before this one has left
    if (node == 30) return std::nullopt;
    OutgoingReport report{node, *PrivacyParameters::Create(6'000'000, 100'000, 34), {}};
    report.report.coded_bits = std::string(node == 0 ? 600 : 100, 'x');  // it is refused, which is an answer too
    bytes += in_flight[node] = report.report.coded_bits.size();
    ++node;
    return report;
  };
  const auto on_reply = [&](NodeIndex answered, const absl::StatusOr<Receipt>&) {
    bytes -= in_flight[answered];
    in_flight.erase(answered);
    return absl::OkStatus();
  };
  EXPECT_TRUE((*link)->SubmitReports(kRoundA, next, on_reply).value.ok());
  EXPECT_TRUE(in_flight.empty());
  EXPECT_EQ(bytes_max, 1000u);
}

TEST_F(NodeOverGrpc, MalformedRoundsAreRefusedOrRetried) {
  Offer(MakeRound(kRoundA));
  service_.rounds[0].mutable_parameters()->set_mechanism(9);
  EXPECT_EQ(Run(MakeTlsKit(7, 7)).code, ExitCode::kRefusedByPolicy);
  service_.rounds[0].mutable_parameters()->set_mechanism(1);
  service_.rounds[0].mutable_parameters()->set_degree_share_ppm(1'000'001);
  EXPECT_EQ(Run(MakeTlsKit(7, 7)).code, ExitCode::kRefusedByPolicy);
  service_.rounds[0].set_round_id("../../etc/passwd");
  options_.give_up_after = absl::Milliseconds(200);
  EXPECT_EQ(Run(MakeTlsKit(7, 7)).code, ExitCode::kUnreachable);
  EXPECT_EQ(draws_, 0u);
}

TEST_F(NodeOverGrpc, AListOfTooManyRoundsIsRefused) {
  for (uint32_t i = 0; i <= kRoundsListedMax; ++i)
    Offer(MakeRound(absl::StrCat(absl::Hex(i, absl::kZeroPad8), "000000000000000000000000")));
  auto link = GrpcLink::Create(MakeTlsKit(7, 7).config);
  ASSERT_TRUE(link.ok());
  EXPECT_EQ((*link)->GetRounds(7, "").value.status().code(), absl::StatusCode::kInternal);
}

TEST_F(NodeOverGrpc, ARefusalCarriesItsRetryWindow) {
  service_.refuse = absl::ResourceExhaustedError("busy");
  auto link = GrpcLink::Create(MakeTlsKit(7, 7).config);
  ASSERT_TRUE(link.ok());
  const auto answer = (*link)->GetRounds(7, "");
  EXPECT_EQ(answer.value.status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(answer.retry.has_value());
  EXPECT_EQ(answer.retry->max, absl::Milliseconds(10));
}

TEST_F(NodeOverGrpc, AnAnswerThatDoesNotComeMeetsTheDeadline) {
  service_.hang = true;
  GrpcLinkOptions options;
  options.call_deadline = absl::Milliseconds(100);
  options_.give_up_after = absl::Milliseconds(300);
  EXPECT_EQ(Run(MakeTlsKit(7, 7), options).code, ExitCode::kUnreachable);
}

TEST_F(NodeOverGrpc, CancelEndsACallInProgress) {
  service_.hang = true;
  auto link = GrpcLink::Create(MakeTlsKit(7, 7).config);
  ASSERT_TRUE(link.ok());
  std::thread canceller([&] {
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      (*link)->Cancel();
      return;
    }
  });
  EXPECT_EQ((*link)->GetRounds(7, "").value.status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ((*link)->GetRounds(7, "").value.status().code(), absl::StatusCode::kCancelled) << "and every later one";
}

TEST_F(NodeOverGrpc, AnAggregatorOfAnotherAuthorityIsNotTalkedTo) {
  Offer(MakeRound(kRoundA));
  const Kit kit = MakeTlsKit(7, 7);
  Certify(*CreateAuthority("other", absl::Hours(1)), folder_ / "kit/tls", "blink://demo/node/7", false);
  options_.give_up_after = absl::Milliseconds(300);
  const AgentOutcome outcome = Run(kit);
  EXPECT_EQ(outcome.code, ExitCode::kUnreachable) << outcome.message;
  EXPECT_EQ(service_.polls, 0);
}

TEST_F(NodeOverGrpc, PlaintextIsForLoopbackOnly) {
  KitConfig config = MakeKit(7, 7).config;
  config.aggregator = "192.0.2.1:7443";
  EXPECT_EQ(GrpcLink::Create(config).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace blink
