#include "aggregator_server/web/web_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "common/pki/pki.h"
#include "common/wire/artifact_digests.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::AllOf;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::kOtherRoundId;
using testing::kRoundId;
using testing::ManualClock;
using ::testing::Not;

constexpr uint32_t kNodes = 10;
constexpr char kMetrics[] = R"({"train": {"model": "gcn", "prior": "beta", "variant": "hard",
    "validation_accuracy": 0.8, "test_accuracy": 0.7, "warnings": ["<script>alert(1)</script>"]},
    "classes": {"test": [{"name": "a"}, {"name": "b"}], "confusion": [[1, 2], [3, 4]]},
    "plausibility": {"tested": 10, "flagged": 0, "flags": []}})";

class WebPageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFileAtomically(folder_ / "ca.crt", authority_.certificate).ok());
    Publish({});
    auto revocations = Revocations::Load({folder_ / "crl.pem", folder_ / "ca.crt", folder_ / "memory"}, clock_);
    ASSERT_TRUE(revocations.ok()) << revocations.status();
    guard_ = std::make_unique<CertificateGuard>(*std::move(revocations), clock_);
    store_ = *OpenRocksDbStore(folder_ / "store");
    PipelineOptions options;
    options.deployment = "demo";
    options.node_count = kNodes;
    options.rounds_folder = folder_ / "rounds";
    pipeline_ = std::make_unique<Pipeline>(options, *store_, clock_);
    Begin(/*insecure=*/false);
  }
  void Begin(bool insecure) {
    page_ = nullptr;
    authenticator_ = std::make_unique<Authenticator>("demo", insecure, *guard_);
    page_ = std::make_unique<WebPage>(WebPage::Sources{*store_, *pipeline_, *authenticator_, *guard_, "demo", kNodes,
                                                       kNodes, 1, folder_.path(), [] { return absl::OkStatus(); }});
  }
  std::string Certificate(const std::string& name, absl::Duration valid_for = absl::Hours(24)) {
    return SignRequest(authority_, MakeRequest(GenerateKey().value(), "x").value(),
                       {.uri_san = name, .valid_for = valid_for, .valid_from = clock_.Now()})
        .value();
  }
  void Publish(const std::vector<std::string>& certificates) {
    RevocationListOptions options = {
        .number = ++lists_, .this_update = clock_.Now(), .next_update = clock_.Now() + absl::Hours(480)};
    for (const std::string& certificate : certificates) {
      options.revoked.push_back({InspectCertificate(certificate)->serial, clock_.Now(), "key-compromise"});
    }
    ASSERT_TRUE(WriteFileAtomically(folder_ / "crl.pem", SignRevocationList(authority_, options).value()).ok());
  }
  HttpResponse AskAs(const std::string& certificate, const std::string& path, const std::string& host = "x",
                     const std::string& site = "same-origin") {
    return page_->Answer({.path = path, .host = host, .fetch_site = site, .certificate = certificate, .peer = "peer"});
  }
  HttpResponse Ask(const std::string& path) { return AskAs(operator_, path); }
  HttpResponse AskOf(const std::string& about) { return Ask(absl::StrCat("/api/rounds/", kRoundId, about)); }

  // A round that is ready, with the files of its result.
  void MakeReady(const std::string& curves = "epoch,train_loss,validation_loss,validation_accuracy\n1,0.5,0.6,0.7\n") {
    const std::string round_folder = absl::StrCat(folder_.path(), "/rounds/", kRoundId);
    const std::string result = round_folder + "/result";
    ASSERT_TRUE(store_->CreateRound(testing::MakeRound(kNodes), "").ok());
    std::filesystem::create_directories(result);
    const PrivacyParameters parameters = testing::MakeParameters(kNodes);
    auto writer = ReportFileWriter::Create(round_folder + "/reports.blr");
    for (uint32_t node = 0; node < kNodes; ++node) {
      ASSERT_TRUE((*writer)->Add(node, testing::MakeReport(parameters, node)).ok());
    }
    ASSERT_TRUE((*writer)->Finish().ok());
    ASSERT_TRUE(WriteFileAtomically(result + "/curves.csv", curves).ok());
    std::string degrees = "node,degree,deviation\n";
    for (uint32_t node = 0; node < kNodes; ++node) absl::StrAppend(&degrees, node, ",", node / 2, ".25,1\n");
    ASSERT_TRUE(WriteFileAtomically(result + "/degrees.csv", degrees).ok());
    Json metrics = Json::parse(kMetrics);
    metrics["files"] = *DigestArtifacts(result);
    ASSERT_TRUE(WriteFileAtomically(result + "/metrics.json", SealMetrics(metrics)).ok());
    ASSERT_TRUE(store_
                    ->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN},
                                  [&](v1::Round& round) {
                                    round.set_state(v1::ROUND_STATE_READY);
                                    round.set_result_json(TextOf(metrics));
                                    return absl::OkStatus();
                                  })
                    .ok());
  }

  testing::TempFolder folder_;
  ManualClock clock_;
  const CertificateAuthority authority_ = CreateAuthority("the authority", absl::Hours(24)).value();
  uint64_t lists_ = 0;
  const std::string operator_ = Certificate("blink://demo/operator/ann");
  std::unique_ptr<CertificateGuard> guard_;
  std::unique_ptr<ReportStore> store_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<WebPage> page_;
};

TEST_F(WebPageTest, ShowsAnOperatorThePageAndNothingFromElsewhere) {
  for (const char* path :
       {"/", "/app.js", "/charts.js", "/dom.js", "/round.js", "/system.js", "/style.css", "/icon.svg"}) {
    const HttpResponse answer = Ask(path);
    EXPECT_EQ(answer.code, 200) << path;
    EXPECT_THAT(answer.body, AllOf(Not(HasSubstr("https://")), Not(HasSubstr("innerHTML")), Not(HasSubstr("eval("))))
        << path;
    std::string headers;
    for (const auto& [name, value] : answer.headers) absl::StrAppend(&headers, name, ": ", value, "\n");
    EXPECT_THAT(headers, AllOf(HasSubstr("default-src 'none'"), HasSubstr("frame-ancestors 'none'"),
                               HasSubstr("Referrer-Policy: no-referrer"), Not(HasSubstr("unsafe"))));
  }
  EXPECT_THAT(Ask("/").type, HasSubstr("text/html"));
}

TEST_F(WebPageTest, RefusesANodeWithAPageThatSaysSo) {
  const std::string node = Certificate("blink://demo/node/3");
  for (const char* path : {"/", "/app.js", "/nowhere"}) {
    const HttpResponse answer = AskAs(node, path);
    EXPECT_EQ(answer.code, 403) << path;
    EXPECT_THAT(answer.body, AllOf(HasSubstr("blink://demo/node/3"), HasSubstr("It is for operators"),
                                   HasSubstr("lang=\"en\""), HasSubstr("<h1>")));
  }
  const HttpResponse answer = AskAs(node, "/api/rounds");
  EXPECT_EQ(answer.code, 403);
  EXPECT_THAT(answer.body, HasSubstr("not an operator's of deployment"));
}

TEST_F(WebPageTest, RefusesTheAggregatorItselfAndOperatorsOfAnotherDeployment) {
  for (const char* name : {"blink://demo/aggregator", "blink://other/operator/ann", "blink://demo/nodes/0-9"}) {
    EXPECT_EQ(AskAs(Certificate(name), "/api/rounds").code, 403) << name;
    EXPECT_EQ(AskAs(Certificate(name), "/api/events").code, 403) << name;
  }
}

TEST_F(WebPageTest, RefusesACertificateThatNamesNobody) {
  EXPECT_EQ(AskAs(Certificate("https://demo/operator/ann"), "/").code, 403);
  EXPECT_EQ(AskAs("", "/").code, 403);
  EXPECT_EQ(AskAs("no certificate", "/").code, 403);
}

TEST_F(WebPageTest, RefusesARevokedCertificateAtTheNextRequest) {
  EXPECT_EQ(Ask("/api/rounds").code, 200);
  Publish({operator_});
  guard_->RereadRevocations();
  EXPECT_TRUE(Eventually([&] { return Ask("/api/rounds").code == 403; }));
  EXPECT_THAT(Ask("/").body, HasSubstr("key-compromise"));
  EXPECT_EQ(Ask("/api/events").code, 403);
}

TEST_F(WebPageTest, EndsTheStreamOfARevokedCertificate) {
  const HttpResponse answer = Ask("/api/events");
  ASSERT_NE(answer.stream, nullptr);
  std::atomic<int> ends{0};
  answer.stream->Begin([] {}, [&] { ++ends; });
  EXPECT_EQ(guard_->open_streams(), 1u);
  Publish({operator_});
  guard_->RereadRevocations();
  EXPECT_TRUE(Eventually([&] { return ends == 1; }));
}

TEST_F(WebPageTest, RefusesAnExpiredCertificate) {
  clock_.Advance(absl::Hours(25));
  EXPECT_EQ(Ask("/api/rounds").code, 403);
  EXPECT_THAT(Ask("/").body, HasSubstr("expired on"));
}

TEST_F(WebPageTest, WithoutTlsItHasTheNamesOfThisMachineAlone) {
  Begin(/*insecure=*/true);
  for (const char* host : {"localhost", "localhost:7444", "127.0.0.1:7444", "[::1]", "[::1]:7444"}) {
    EXPECT_EQ(AskAs("", "/api/rounds", host).code, 200) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:7444", "localhost.evil.example",
                           "127.0.0.1.evil.example:1", "[::2]:7444", "localhost:7444:1"}) {
    EXPECT_EQ(AskAs("", "/api/rounds", host).code, 403) << host;
  }
}

TEST_F(WebPageTest, RefusesWhatAnotherPageAsksFor) {
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(AskAs(operator_, "/api/rounds", "x", site).code, 403) << site;
    EXPECT_EQ(AskAs(operator_, "/", "x", site).code, 200) << "a link to the page";
  }
}

TEST_F(WebPageTest, RefusesPathsThatAreNone) {
  MakeReady();
  for (const char* path : {"/..", "/../store", "/index.html", "/style.css/", "/api", "/api/", "/api/rounds/",
                           "/api/rounds/..", "/api/rounds/../../ca.crt", "/api/rounds/%2e%2e/x", "/api/nothing"}) {
    EXPECT_EQ(Ask(path).code, 404) << path;
  }
  for (const char* about : {"/", "/reports.blr", "/result", "/..", "/curves/x", "/curves/../degrees", "/model.pt"}) {
    EXPECT_EQ(AskOf(about).code, 404) << about;
  }
}

TEST_F(WebPageTest, RefusesARoundThatThereIsNot) {
  for (const char* about : {"", "/missing", "/curves", "/degrees", "/confusion", "/plausibility"}) {
    EXPECT_EQ(Ask(absl::StrCat("/api/rounds/", kOtherRoundId, about)).code, 404) << about;
  }
}

TEST_F(WebPageTest, ListsRoundsWithTheirCounts) {
  ASSERT_TRUE(store_->CreateRound(testing::MakeRound(kNodes), "").ok());
  const Json list = Json::parse(Ask("/api/rounds").body);
  EXPECT_EQ(list["total"], 1);
  EXPECT_EQ(list["rounds"][0]["id"], kRoundId);
  EXPECT_EQ(list["rounds"][0]["state"], "open");
  EXPECT_EQ(list["rounds"][0]["missing"], kNodes);
  EXPECT_EQ(list["rounds"][0]["epsilon"], 6.0);
}

TEST_F(WebPageTest, TellsWhoIsMissing) {
  ASSERT_TRUE(store_->CreateRound(testing::MakeRound(kNodes), "").ok());
  const PrivacyParameters parameters = testing::MakeParameters(kNodes);
  for (const uint32_t node : {0, 1, 5}) {
    ASSERT_TRUE(store_->PutReportAndWait(testing::MakeChecked(parameters, node)).ok());
  }
  const Json missing = Json::parse(AskOf("/missing").body);
  EXPECT_EQ(missing["missing"], 7);
  EXPECT_EQ(missing["ranges"], Json::parse("[[2, 4], [6, 9]]"));
  EXPECT_EQ(missing["complete"], true);
}

TEST_F(WebPageTest, RefusesAResultThatThereIsNotYet) {
  ASSERT_TRUE(store_->CreateRound(testing::MakeRound(kNodes), "").ok());
  for (const char* about : {"/curves", "/degrees", "/confusion", "/plausibility"}) {
    EXPECT_EQ(AskOf(about).code, 409) << about;
  }
}

TEST_F(WebPageTest, ShowsWhatARoundCameTo) {
  MakeReady();
  const Json round = Json::parse(AskOf("").body);
  EXPECT_EQ(round["result"]["accuracy"]["test"], 0.7);
  EXPECT_TRUE(round["result"]["accuracy"]["features_only"].is_null());
  EXPECT_EQ(round["privacy"]["mechanism"], "both-ends");
  EXPECT_EQ(Json::parse(AskOf("/curves").body)["points"], Json::parse("[[1, 0.5, 0.6, 0.7]]"));
  EXPECT_EQ(Json::parse(AskOf("/confusion").body)["confusion"][1][1], 4);
  EXPECT_EQ(Json::parse(AskOf("/plausibility").body)["tested"], 10);
  EXPECT_THAT(AskOf("").body, HasSubstr("<script>")) << "as data, of a type that no browser takes for a page";
  EXPECT_EQ(AskOf("").type, "application/json");
}

TEST_F(WebPageTest, DegreesAreCountsAndNoNodesValue) {
  MakeReady();
  const Json degrees = Json::parse(AskOf("/degrees").body);
  EXPECT_EQ(degrees["noisy"]["total"], kNodes);
  EXPECT_EQ(degrees["estimated"]["total"], kNodes);
  EXPECT_THAT(AskOf("/degrees").body, AllOf(Not(HasSubstr("node")), Not(HasSubstr(".25"))));
}

TEST_F(WebPageTest, RefusesDamagedFilesAndShowsThemWhenTheyAreBack) {
  MakeReady();
  const std::string path = absl::StrCat(folder_.path(), "/rounds/", kRoundId, "/result/curves.csv");
  const std::string good = *ReadFile(path, 1000);
  EXPECT_EQ(AskOf("/curves").code, 200);
  ASSERT_TRUE(WriteFileAtomically(path, "epoch,train_loss,validation_loss,validation_accuracy\n1,0.5,0.6,0.9\n").ok());
  EXPECT_EQ(AskOf("/curves").code, 500);
  EXPECT_THAT(AskOf("/curves").body, HasSubstr("bring it back from a backup"));
  std::filesystem::remove(path);
  EXPECT_EQ(AskOf("/curves").code, 500);
  ASSERT_TRUE(WriteFileAtomically(path, good).ok());
  EXPECT_EQ(AskOf("/curves").code, 200);
}

TEST_F(WebPageTest, RefusesDamagedReports) {
  MakeReady();
  const std::string path = absl::StrCat(folder_.path(), "/rounds/", kRoundId, "/reports.blr");
  const std::string good = *ReadFile(path, 1 << 20);
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), "BLINKR09" + good.substr(8),
                                 good.substr(0, 8) + std::string(100, '\x7f')}) {
    ASSERT_TRUE(WriteFileAtomically(path, bad).ok());
    EXPECT_EQ(AskOf("/degrees").code, 500);
  }
}

TEST_F(WebPageTest, AsksNothingOfTheStoreThatChangesIt) {
  MakeReady();
  const auto before = store_->GetRound(kRoundId)->SerializeAsString();
  for (const char* path : {"/", "/api/rounds", "/api/system"}) Ask(path);
  for (const char* about : {"", "/missing", "/curves", "/degrees", "/confusion", "/plausibility"}) AskOf(about);
  EXPECT_EQ(store_->GetRound(kRoundId)->SerializeAsString(), before);
}

TEST_F(WebPageTest, ShowsDiskStoreAndWhatExpires) {
  const Json system = Json::parse(Ask("/api/system").body);
  EXPECT_EQ(system["operator"], "ann");
  EXPECT_GT(system["disk"]["size_bytes"], 0);
  EXPECT_EQ(system["store"]["writable"], true);
  EXPECT_EQ(system["expiry"][0]["what"], "List of revoked certificates");
  EXPECT_EQ(system["expiry"][1]["until_ms"], absl::ToUnixMillis(InspectCertificate(operator_)->not_after));
}

TEST_F(WebPageTest, EventsTellOfRoundsInOnePiece) {
  const HttpResponse answer = Ask("/api/events");
  ASSERT_NE(answer.stream, nullptr);
  std::atomic<int> woken{0};
  answer.stream->Begin([&] { ++woken; }, [] {});
  EXPECT_THAT(answer.stream->Take(), HasSubstr("event: hello"));
  EXPECT_EQ(answer.stream->Take(), "");
  ASSERT_TRUE(store_->CreateRound(testing::MakeRound(kNodes), "").ok());
  ASSERT_TRUE(pipeline_->Start().ok());
  ASSERT_TRUE(pipeline_->Cancel(kRoundId).ok());
  EXPECT_GE(woken, 2);
  const std::string text = answer.stream->Take();
  EXPECT_THAT(text, AllOf(HasSubstr("event: rounds\ndata: [{"), HasSubstr("\"state\":\"cancelled\"")));
  EXPECT_EQ(text.find('\n', text.find("data:")), text.size() - 2) << "one line";
}

TEST_F(WebPageTest, RefusesMoreStreamsOfOneOperatorThanItsShare) {
  std::vector<HttpResponse> open;
  for (int k = 0; k < RoundEvents::kStreamsOfOneMax; ++k) open.push_back(Ask("/api/events"));
  EXPECT_EQ(Ask("/api/events").code, 429);
  EXPECT_NE(AskAs(Certificate("blink://demo/operator/bob"), "/api/events").stream, nullptr);
  open.pop_back();
  EXPECT_NE(Ask("/api/events").stream, nullptr);
}

}  // namespace
}  // namespace blink
