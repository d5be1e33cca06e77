// What a whole aggregator shows to whoever watches it: metrics, health over HTTP and gRPC, and reflection.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/main/aggregator.h"
#include "common/base/durable_file.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/certificates.h"
#include "tests/testing/grpc_environment.h"
#include "tests/testing/places.h"
#include "tests/testing/small_attributes.h"

namespace blink {
namespace {

using testing::ChunkMessage;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::HeaderMessage;
using testing::MakeHeader;
using testing::MakeParameters;
using testing::MakeReport;

constexpr uint32_t kNodes = 40;
constexpr char kServing[] = "\x08\x01";     // of grpc.health.v1.HealthCheckResponse
constexpr char kNotServing[] = "\x08\x02";  // the same

class TelemetryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.attributes_folder = folder_ / "attributes";
    ASSERT_TRUE(testing::WriteSmallAttributes(kNodes, options_.attributes_folder).ok());
    Behave("succeed");
    options_.data_folder = folder_ / "data";
    options_.deployment = {"demo", kNodes, 1};
    options_.worker_path = testing::InSources("tests/unit/rounds/fake_worker.sh");
    options_.http_listen = "127.0.0.1:0";
    const auto authority = CreateAuthority("test authority", absl::Hours(1));
    ASSERT_TRUE(authority.ok()) << authority.status();
    authority_ = *authority;
    options_.server.tls = Certify("blink://demo/aggregator", /*server=*/true);
  }
  void Start() {
    aggregator_.reset();
    auto aggregator = Aggregator::Start(options_, SystemClock());
    ASSERT_TRUE(aggregator.ok()) << aggregator.status();
    aggregator_ = *std::move(aggregator);
  }
  void Behave(const std::string& how) { std::ofstream(options_.attributes_folder + "/behaviour") << how; }

  TlsFiles Certify(const std::string& uri, bool server = false) {
    const std::string base = folder_ / absl::StrCat("tls-", certificates_++);
    CertificateOptions certificate{.uri_san = uri, .server = server};
    if (server) certificate.ip_addresses = {"127.0.0.1"};
    return testing::WriteTlsFiles({base + ".crt", base + ".key", base + ".ca"}, authority_, authority_.certificate,
                                  certificate);
  }
  std::shared_ptr<grpc::Channel> Channel(const std::string& uri) {
    if (files_.count(uri) == 0) files_[uri] = Certify(uri);
    auto credentials = MakeClientCredentials(files_[uri], "demo");
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return MakeChannel(absl::StrCat("127.0.0.1:", aggregator_->port()), *credentials);
  }
  std::string CreateRound() {
    v1::CreateRoundRequest request;
    request.set_deployment("demo");
    request.mutable_parameters()->set_epsilon_micro(6'000'000);
    request.mutable_parameters()->set_degree_share_ppm(100'000);
    request.set_open_for_ms(600'000);
    const auto round = aggregator_->pipeline().CreateRound(request);
    EXPECT_TRUE(round.ok()) << round.status();
    return round->round_id();
  }
  grpc::Status SendReport(const std::string& round_id, NodeIndex id, uint32_t variant = 0) {
    if (node_ == nullptr) node_ = v1::NodeService::NewStub(Channel("blink://demo/nodes/0-39"));
    const CodedReport report = MakeReport(parameters_, id, variant);
    grpc::ClientContext context;
    v1::SubmitReportResponse response;
    const auto writer = node_->SubmitReport(&context, &response);
    writer->Write(HeaderMessage(MakeHeader(parameters_, id, report, round_id)));
    writer->Write(ChunkMessage(report.coded_bits));
    writer->WritesDone();
    return writer->Finish();
  }

  // Calls `method` with `request` and returns the first answer; "error: ..." without one.
  std::string Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                   const std::string& request) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(&context, method, &queue);
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    const grpc::Slice slice(request);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    queue.Next(&tag, &ok);
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    queue.Next(&tag, &ok);
    std::string bytes;
    std::vector<grpc::Slice> slices;
    if (ok && answer.Dump(&slices).ok()) {
      for (const grpc::Slice& part : slices) bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
      context.TryCancel();
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    return slices.empty() ? absl::StrCat("error: ", status.error_message()) : bytes;
  }
  std::string Health() { return Call(Channel("blink://demo/operator/ann"), "/grpc.health.v1.Health/Check", ""); }
  std::string Services() {
    return Call(Channel("blink://demo/operator/ann"), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                std::string("\x3a\x00", 2));
  }

  HttpResponse Get(const std::string& path) { return aggregator_->telemetry().Answer(path); }
  // Of a sample with its labels, as it is written; -1: there is none.
  double Metric(const std::string& name) {
    for (const absl::string_view line : absl::StrSplit(Get("/metrics").body, '\n')) {
      double value = 0;
      if (absl::StartsWith(line, name + " ") && absl::SimpleAtod(line.substr(name.size() + 1), &value)) return value;
    }
    return -1;
  }

  testing::TempFolder folder_;
  AggregatorOptions options_;
  CertificateAuthority authority_;
  std::map<std::string, TlsFiles> files_;
  int certificates_ = 0;
  const PrivacyParameters parameters_ = MakeParameters(kNodes);
  std::unique_ptr<Aggregator> aggregator_;
  std::unique_ptr<v1::NodeService::Stub> node_;
};

TEST_F(TelemetryTest, CountsReportsAndRefusals) {
  Start();
  const std::string round_id = CreateRound();
  for (NodeIndex node = 0; node < 5; ++node) ASSERT_TRUE(SendReport(round_id, node).ok());
  ASSERT_TRUE(SendReport(round_id, 0).ok());
  EXPECT_EQ(SendReport(round_id, 0, /*variant=*/1).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(SendReport(std::string(32, 'f'), 0).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Metric("blink_reports_accepted_total{kind=\"fresh\"}"), 5);
  EXPECT_EQ(Metric("blink_reports_accepted_total{kind=\"repeated\"}"), 1);
  EXPECT_EQ(Metric("blink_reports_refused_total{code=\"ALREADY_EXISTS\"}"), 1);
  EXPECT_EQ(Metric("blink_reports_refused_total{code=\"NOT_FOUND\"}"), 1);
  EXPECT_EQ(Metric("blink_reports_refused_total{code=\"INVALID_ARGUMENT\"}"), 0) << "shown before the first of them";
  EXPECT_GE(Metric("blink_calls_refused_total{code=\"ALREADY_EXISTS\"}"), 1);
  EXPECT_EQ(Metric("blink_report_bytes_total"), 0) << "no full step yet: the size of few reports is not told";
  EXPECT_EQ(Metric(absl::StrCat("blink_round_missing_nodes{round=\"", round_id, "\"}")), kNodes - 5);
  EXPECT_EQ(Metric(absl::StrCat("blink_round_reported_nodes{round=\"", round_id, "\"}")), 5);
  EXPECT_EQ(Metric(absl::StrCat("blink_round_active_nodes{round=\"", round_id, "\"}")), kNodes);
  EXPECT_EQ(Metric("blink_rounds{state=\"open\"}"), 1);
  EXPECT_EQ(Metric("blink_store_batch_reports_sum"), 5);
  EXPECT_GE(Metric("blink_store_write_seconds_count"), 3);
  EXPECT_GT(Metric("blink_store_write_seconds_sum"), 0);
  EXPECT_EQ(Metric("blink_store_queue_changes"), 0);
  EXPECT_TRUE(Eventually([&] { return Metric("blink_calls_in_flight") == 0; }));
  EXPECT_EQ(Metric("blink_reports_in_flight"), 0);
  EXPECT_GE(Metric("blink_store_answer_age_seconds"), 0);
  EXPECT_LT(Metric("blink_store_answer_age_seconds"), 10);
}

TEST_F(TelemetryTest, CountsFailedRoundsAndTheRecordsOfTheAuditLog) {
  Behave("disk-full-otherwise");
  Start();
  EXPECT_EQ(Metric("blink_rounds_failed_total"), 0) << "shown before the first of them";
  EXPECT_EQ(Metric("blink_audit_log_failed_writes_total"), 0);
  EXPECT_EQ(Metric("blink_audit_log_last_failure_timestamp_seconds"), 0) << "there was none";
  const std::string round_id = CreateRound();
  for (NodeIndex node = 0; node < kNodes; ++node) ASSERT_TRUE(SendReport(round_id, node).ok());
  EXPECT_TRUE(Eventually([&] { return Metric("blink_rounds_failed_total") == 1; }));
  ASSERT_TRUE(aggregator_->pipeline().AnalyseAgain(round_id, {}, "").ok());
  EXPECT_TRUE(Eventually([&] { return Metric("blink_rounds_failed_total") == 2; }));
  EXPECT_EQ(Metric("blink_rounds{state=\"failed\"}"), 1);
  EXPECT_EQ(Metric("blink_audit_log_records_total"), 1) << "its start";
  EXPECT_EQ(Metric("blink_audit_log_size_bytes"),
            static_cast<double>(std::filesystem::file_size(options_.data_folder + "/audit.log")));
}

TEST_F(TelemetryTest, ShowsARoundFromItsReportsToItsEnd) {
  Behave("checkpoint-then-hang");
  Start();
  const std::string round_id = CreateRound();
  EXPECT_EQ(Metric("blink_worker_running"), 0);
  EXPECT_EQ(Metric("blink_worker_silent_seconds"), -1);
  for (NodeIndex node = 0; node < kNodes; ++node) ASSERT_TRUE(SendReport(round_id, node).ok());
  ASSERT_TRUE(Eventually([&] { return Metric("blink_worker_progress_ratio{stage=\"training\"}") == 0.3; }));
  EXPECT_EQ(Metric("blink_worker_running"), 1);
  EXPECT_EQ(Metric("blink_worker_attempts"), 1);
  EXPECT_GE(Metric("blink_worker_checkpoint_age_seconds"), 0);
  EXPECT_LT(Metric("blink_worker_checkpoint_age_seconds"), 600);
  EXPECT_GT(Metric("blink_worker_resident_memory_bytes"), 100'000);
  EXPECT_GE(Metric("blink_worker_cpu_seconds"), 0);
  EXPECT_TRUE(Eventually([&] { return Metric("blink_worker_silent_seconds") > 0.05; })) << "it hangs";
  EXPECT_EQ(Metric("blink_round_stage_seconds_count{stage=\"open\"}"), 1);
  EXPECT_EQ(Metric("blink_round_stage_seconds_count{stage=\"estimating\"}"), 1);
  EXPECT_EQ(Metric("blink_rounds{state=\"training\"}"), 1);
  EXPECT_EQ(Metric(absl::StrCat("blink_round_missing_nodes{round=\"", round_id, "\"}")), -1) << "it is not open";
  ASSERT_TRUE(aggregator_->pipeline().Cancel(round_id).ok());
  EXPECT_TRUE(Eventually([&] { return Metric("blink_worker_exits_total{kind=\"stopped\"}") == 1; }));
  EXPECT_EQ(Metric("blink_worker_running"), 0);
  EXPECT_EQ(Metric("blink_round_stage_seconds_count{stage=\"training\"}"), 0) << "it did not come to its end";

  Behave("succeed");
  const std::string next = CreateRound();
  for (NodeIndex node = 0; node < kNodes; ++node) ASSERT_TRUE(SendReport(next, node).ok());
  EXPECT_TRUE(Eventually([&] { return Metric("blink_round_stage_seconds_count{stage=\"training\"}") == 1; }));
  EXPECT_EQ(Metric("blink_rounds{state=\"ready\"}"), 1);
  EXPECT_EQ(Metric("blink_worker_exits_total{kind=\"done\"}"), 1);
}

TEST_F(TelemetryTest, NamesNoNodeAndNoPeer) {
  Start();
  const std::string round_id = CreateRound();
  for (NodeIndex node = 0; node < 5; ++node) ASSERT_TRUE(SendReport(round_id, node).ok());
  const MetricList list = aggregator_->telemetry().Collect();
  const std::set<std::string> known = {"version", "commit", "kind", "code", "state", "round", "stage", "of"};
  for (const prometheus::MetricFamily& family : list.families()) {
    EXPECT_FALSE(family.help.empty()) << family.name;
    for (const prometheus::ClientMetric& metric : family.metric) {
      for (const auto& label : metric.label) EXPECT_EQ(known.count(label.name), 1u) << family.name << " " << label.name;
    }
  }
}

TEST_F(TelemetryTest, TellsWhenCertificatesExpire) {
  Start();
  const auto certificate = ReadFile(options_.server.tls->certificate, 1 << 20);
  ASSERT_TRUE(certificate.ok());
  const absl::Time until = InspectCertificate(*certificate)->not_after;
  EXPECT_EQ(Metric("blink_certificate_expiry_timestamp_seconds{of=\"aggregator\"}"), absl::ToUnixSeconds(until));
  EXPECT_GT(Metric("blink_certificate_expiry_timestamp_seconds{of=\"authority\"}"), absl::ToUnixSeconds(absl::Now()));
}

TEST_F(TelemetryTest, IsReadyUntilItStopsAndSaysSoOverHttpAndGrpc) {
  Start();
  EXPECT_EQ(Get("/readyz").code, 200);
  EXPECT_EQ(Health(), kServing);
  EXPECT_EQ(Metric("blink_ready"), 1);
  aggregator_->telemetry().BeginStop();
  EXPECT_EQ(Get("/readyz").code, 503);
  EXPECT_THAT(Get("/readyz").body, HasSubstr("stops"));
  EXPECT_EQ(Get("/healthz").code, 200) << "the process lives";
  EXPECT_EQ(Metric("blink_ready"), 0);
  EXPECT_TRUE(Eventually([&] { return Health() == kNotServing; }));
}

TEST_F(TelemetryTest, HasNoOtherPath) {
  Start();
  for (const char* const path : {"/", "/metrics/", "/Metrics", "/healthz/x", "//readyz", "/../metrics"}) {
    EXPECT_EQ(Get(path).code, 404) << path;
  }
}

TEST_F(TelemetryTest, RefusesAnHttpPortThatIsTakenBeforeItTouchesTheData) {
  const auto taken = HttpServer::Listen("127.0.0.1:0");
  ASSERT_TRUE(taken.ok());
  options_.http_listen = absl::StrCat("127.0.0.1:", (*taken)->port());
  const absl::Status refused = Aggregator::Start(options_, SystemClock()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat("--http-listen: cannot listen on ", options_.http_listen)));
  EXPECT_FALSE(std::filesystem::exists(options_.data_folder + "/store"));
}

TEST_F(TelemetryTest, TellsItsServicesOnlyWhenItIsAsked) {
  Start();
  EXPECT_THAT(Services(), HasSubstr("error: "));
  aggregator_.reset();
  options_.server.reflection = true;
  Start();
  const std::string services = Services();
  EXPECT_THAT(services, HasSubstr("blink.v1.NodeService"));
  EXPECT_THAT(services, HasSubstr("blink.v1.OperatorService"));
  const auto nobody =
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", aggregator_->port()), grpc::InsecureChannelCredentials());
  EXPECT_THAT(
      Call(nobody, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x00", 2)),
      HasSubstr("error: "))
      << "nobody without a certificate";
  aggregator_.reset();
  options_.server.reflection = false;
  Start();
  EXPECT_THAT(Services(), HasSubstr("error: "));
}

}  // namespace
}  // namespace blink
