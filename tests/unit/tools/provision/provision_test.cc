#include "tools/provision/provision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "node_client/journal.h"
#include "node_client/kit.h"
#include "tests/testing/places.h"
#include "tools/round/operator_client.h"

namespace blink {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Provision : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/provision-", ::getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    out_ = folder_ + "/out";
  }
  void TearDown() override { fs::remove_all(folder_); }

  FleetOptions Fleet(uint32_t nodes, uint32_t kits) const {
    return {.authority = {.out = out_, .deployment = "demo", .node_count = nodes, .aggregator = "127.0.0.1:7443"},
            .kits = kits};
  }
  std::string Read(const std::string& path) const { return ReadFile(absl::StrCat(out_, "/", path), 1 << 20).value(); }
  CertificateInfo Certificate(const std::string& path) const { return InspectCertificate(Read(path)).value(); }
  void InitDemo() {
    ASSERT_TRUE(
        InitAuthority({.out = out_, .deployment = "demo", .node_count = 100, .aggregator = "127.0.0.1:7443"}).ok());
  }
  std::string Request() {
    const std::string path = folder_ + "/client.csr";
    EXPECT_TRUE(WriteFileAtomically(path, MakeRequest(GenerateKey().value(), "anybody").value()).ok());
    return path;
  }

  std::string folder_, out_;
};

TEST_F(Provision, WhatFailedLeavesNothingThatRefusesAnotherAttempt) {
  const std::string key = folder_ + "/client.key";
  EXPECT_FALSE(MakeKeyAndRequest(key, folder_ + "/missing/client.csr", "ada").ok());
  EXPECT_FALSE(fs::exists(key));
  EXPECT_TRUE(MakeKeyAndRequest(key, folder_ + "/client.csr", "ada").ok());
  InitDemo();
  fs::create_directories(out_ + "/enrolment.json.tmp." + std::to_string(::getpid()));  // the list cannot be written
  const Enrolled ada = {.name = "ada", .identity = {.kind = Identity::Kind::kOperator, .name = "ada"}};
  EXPECT_FALSE(Enrol(out_, ada).ok());
  EXPECT_FALSE(fs::exists(out_ + "/operators/ada"));
  fs::remove(out_ + "/enrolment.json.tmp." + std::to_string(::getpid()));
  EXPECT_TRUE(Enrol(out_, ada).ok());
}

TEST_F(Provision, AFleetGetsContiguousKitsAsEvenAsPossible) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 3)).ok());
  std::vector<std::string> kits;
  for (const auto& entry : fs::directory_iterator(out_ + "/kits")) kits.push_back(entry.path().filename());
  std::sort(kits.begin(), kits.end());
  EXPECT_THAT(kits, ElementsAre("nodes-0-2", "nodes-3-5", "nodes-6-9"));
  EXPECT_THAT(Certificate("kits/nodes-6-9/tls/client.crt").uri_sans, ElementsAre("blink://demo/nodes/6-9"));
  EXPECT_THAT(Certificate("aggregator/tls/server.crt").uri_sans, ElementsAre("blink://demo/aggregator"));
  EXPECT_THAT(Certificate("operator/tls/client.crt").uri_sans, ElementsAre("blink://demo/operator/operator"));
}

TEST_F(Provision, AFleetOfManyKitsIsWholeAndItsProgressAscends) {
  std::vector<uint32_t> done;
  ASSERT_TRUE(ProvisionFleet(Fleet(200, 200), [&](uint32_t count) { done.push_back(count); }).ok());
  std::vector<uint32_t> expected(202);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(done, expected);
  const auto enrolment = Enrolment::FromJson(Read("enrolment.json"));
  ASSERT_TRUE(enrolment.ok()) << enrolment.status();
  ASSERT_EQ(enrolment->entries().size(), 202u);
  for (const Enrolled& entry : enrolment->entries()) {
    if (entry.identity.kind != Identity::Kind::kNodes) continue;
    ASSERT_EQ(entry.certificates.size(), 1u) << entry.name;
    const CertificateInfo certificate = Certificate(absl::StrCat("kits/", entry.name, "/tls/client.crt"));
    EXPECT_EQ(certificate.serial, entry.certificates[0].serial) << "the list names the certificate that the kit has";
    EXPECT_THAT(certificate.uri_sans, ElementsAre(entry.identity.ToUri()));
    const JournalIdentity identity = {.deployment = "demo",
                                      .first_node = static_cast<NodeIndex>(entry.identity.first_node),
                                      .last_node = static_cast<NodeIndex>(entry.identity.last_node),
                                      .node_count = 200,
                                      .roster_version = 1};
    EXPECT_TRUE(Journal::Open(absl::StrCat(out_, "/journals/", entry.name), identity).ok()) << entry.name;
  }
}

TEST_F(Provision, RefusesToSuggestAPolicyThatNodesWouldRefuse) {
  const auto refusal = [&](const std::function<void(KitPolicy&)>& change) {
    FleetOptions options = Fleet(10, 3);
    change(options.authority.policy);
    const absl::Status init = InitAuthority(options.authority), fleet = ProvisionFleet(options);
    EXPECT_EQ(init, fleet);
    EXPECT_EQ(init.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(fs::exists(out_));
    return std::string(init.message());
  };
  EXPECT_THAT(refusal([](KitPolicy& policy) { policy.epsilon_micro_per_round_max = 50'000'001; }),
              HasSubstr("epsilon_micro_per_round_max"));
  EXPECT_THAT(refusal([](KitPolicy& policy) { policy.node_count_min = 2; }), HasSubstr("node_count_min"));
  EXPECT_THAT(refusal([](KitPolicy& policy) { policy.epoch_seconds_min = 101ll * 365 * 86400; }),
              HasSubstr("epoch_seconds_min"));
  EXPECT_THAT(refusal([](KitPolicy& policy) { policy.send_spread_seconds = -1; }), HasSubstr("send_spread_seconds"));
}

TEST_F(Provision, OneKitPerNodeIsAFleetToo) {
  ASSERT_TRUE(ProvisionFleet(Fleet(5, 5)).ok());
  EXPECT_THAT(Certificate("kits/node-4/tls/client.crt").uri_sans, ElementsAre("blink://demo/node/4"));
}

TEST_F(Provision, KitsAndJournalsAreWhatANodeReads) {
  FleetOptions options = Fleet(10, 3);
  options.authority.policy.epsilon_micro_per_round_max = 3'000'000;
  options.authority.roster_version = 4;
  ASSERT_TRUE(ProvisionFleet(options).ok());
  const absl::StatusOr<KitConfig> kit = LoadKitConfig(out_ + "/kits/nodes-3-5");
  ASSERT_TRUE(kit.ok()) << kit.status();
  EXPECT_EQ(kit->first_node, 3u);
  EXPECT_EQ(kit->last_node, 5u);
  EXPECT_EQ(kit->node_count, 10u);
  EXPECT_EQ(kit->roster_version, 4u);
  const absl::StatusOr<NodePolicy> policy = LoadPolicy(out_ + "/kits/nodes-3-5/policy.json");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->epsilon_micro_per_round_max, 3'000'000u);
  EXPECT_THAT(policy->deployments, ElementsAre("demo"));
  EXPECT_TRUE(CheckTlsFiles({kit->certificate_path(), kit->key_path(), kit->ca_path()}).ok());
  EXPECT_TRUE(Journal::Open(out_ + "/journals/nodes-3-5", {"demo", 3, 5, 10, 4}).ok());
}

TEST_F(Provision, OperatorConfIsWhatTheOperatorReads) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 3)).ok());
  const absl::StatusOr<OperatorConfig> config = LoadOperatorConfig(out_ + "/operator/operator.conf");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->aggregator, "127.0.0.1:7443");
  EXPECT_EQ(config->deployment, "demo");
  EXPECT_TRUE(CheckTlsFiles(config->tls).ok());
}

TEST(SampleConfigurations, AreWhatTheProgramsRead) {
  const std::string deploy = testing::InSources("deploy/");
  const absl::StatusOr<OperatorConfig> config = LoadOperatorConfig(deploy + "operator.conf");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->tls.key, deploy + "tls/client.key");
  const absl::StatusOr<KitConfig> kit = LoadKitConfig(deploy);
  ASSERT_TRUE(kit.ok()) << kit.status();
  const absl::StatusOr<NodePolicy> policy = LoadPolicy(DefaultPolicyPath(deploy));
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_TRUE(CheckDeployment(*policy, kit->deployment).ok());
}

TEST_F(Provision, FoldersArePrivateAndNoFileNamesAnAbsolutePath) {
  ASSERT_TRUE(ProvisionFleet(Fleet(4, 2)).ok());
  for (const auto& entry : fs::recursive_directory_iterator(out_)) {
    struct stat info;
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0077, 0u) << entry.path();
    if (entry.is_regular_file()) {
      EXPECT_THAT(ReadFile(entry.path(), 1 << 20).value(), Not(HasSubstr(folder_))) << entry.path();
    }
  }
  fs::rename(out_, folder_ + "/moved");
  EXPECT_TRUE(LoadOperatorConfig(folder_ + "/moved/operator/operator.conf").ok());
}

TEST_F(Provision, AnAggregatorElsewhereListensOnEveryInterface) {
  FleetOptions options = Fleet(4, 2);
  options.authority.aggregator = "aggregator:7443";
  ASSERT_TRUE(ProvisionFleet(options).ok());
  EXPECT_THAT(Read("aggregator/aggregator.conf"), HasSubstr("listen=\"0.0.0.0:7443\""));
  EXPECT_THAT(Read("kits/nodes-0-1/kit.json"), HasSubstr("\"aggregator:7443\""));
}

TEST_F(Provision, RefusesAnExistingFolderAndTouchesNothing) {
  fs::create_directories(fs::path(out_) / "mine");
  const absl::Status fleet = ProvisionFleet(Fleet(10, 3));
  EXPECT_EQ(fleet.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(fleet.message()), HasSubstr("exists already"));
  EXPECT_EQ(std::distance(fs::directory_iterator(out_), fs::directory_iterator()), 1);
  EXPECT_EQ(InitAuthority({.out = out_, .deployment = "demo", .node_count = 10}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(Provision, RefusesBadNumbersAndLeavesNothingBehind) {
  EXPECT_EQ(ProvisionFleet(Fleet(10, 0)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ProvisionFleet(Fleet(10, 11)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ProvisionFleet(Fleet(2, 1)).code(), absl::StatusCode::kInvalidArgument);
  FleetOptions nowhere = Fleet(10, 3);
  nowhere.authority.aggregator = "nowhere";
  EXPECT_EQ(ProvisionFleet(nowhere).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Provision, InsecureKitsAreForLoopbackOnly) {
  FleetOptions options = Fleet(4, 2);
  options.authority.insecure = true;
  options.authority.aggregator = "10.0.0.1:7443";
  EXPECT_EQ(ProvisionFleet(options).code(), absl::StatusCode::kFailedPrecondition);
  options.authority.aggregator = "127.0.0.1:7443";
  ASSERT_TRUE(ProvisionFleet(options).ok());
  EXPECT_TRUE(LoadKitConfig(out_ + "/kits/nodes-0-1")->insecure);
  EXPECT_TRUE(LoadOperatorConfig(out_ + "/operator/operator.conf")->insecure);
}

TEST_F(Provision, SignsForEnrolledNamesWithWhatTheListSays) {
  InitDemo();
  ASSERT_TRUE(Enrol(out_, {.name = "nodes-0-9", .identity = {.first_node = 0, .last_node = 9}}).ok());
  EXPECT_TRUE(LoadKitConfig(out_ + "/kits/nodes-0-9").ok());
  const std::string certificate = folder_ + "/client.crt";
  const absl::StatusOr<absl::Time> end = SignRequest(out_, "nodes-0-9", Request(), certificate, absl::Hours(24));
  ASSERT_TRUE(end.ok()) << end.status();
  const CertificateInfo info = InspectCertificate(ReadFile(certificate, 1 << 20).value()).value();
  EXPECT_EQ(*end, info.not_after);
  EXPECT_THAT(info.uri_sans, ElementsAre("blink://demo/nodes/0-9"));
  EXPECT_THAT(Read("enrolment.json"), HasSubstr(info.serial));
}

TEST_F(Provision, TheAggregatorsCertificateHasNamesThatAnyClientCanVerify) {
  ASSERT_TRUE(
      InitAuthority({.out = out_, .deployment = "demo", .node_count = 9, .aggregator = "c.example.org:7443"}).ok());
  ASSERT_TRUE(Enrol(out_, {.name = "aggregator",
                           .identity = {.kind = Identity::Kind::kAggregator},
                           .dns_names = {"old.example.org", "c.example.org"}})
                  .ok());
  const std::string certificate = folder_ + "/server.crt";
  const auto sign = [&](const std::vector<std::string>& dns, const std::vector<std::string>& ip) {
    return SignRequest(out_, "aggregator", Request(), certificate, absl::Hours(24), dns, ip).status();
  };
  ASSERT_TRUE(sign({"new.example.org"}, {"192.0.2.7", "2001:db8::1"}).ok());
  const CertificateInfo info = InspectCertificate(ReadFile(certificate, 1 << 20).value()).value();
  EXPECT_THAT(info.uri_sans, ElementsAre("blink://demo/aggregator"));
  EXPECT_THAT(info.host_names, ElementsAre("demo.blink.internal", "old.example.org", "c.example.org", "new.example.org",
                                           "192.0.2.7", "2001:db8::1"));
  EXPECT_EQ(sign({"a b"}, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sign({}, {"192.0.2.7/8"}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Provision, AHostThatIsNoDnsNameIsLeftOut) {
  FleetOptions fleet = Fleet(10, 1);
  fleet.authority.aggregator = "the_aggregator:7443";
  fleet.ip_addresses = {"192.0.2.7"};
  ASSERT_TRUE(ProvisionFleet(fleet).ok());
  EXPECT_THAT(Certificate("aggregator/tls/server.crt").host_names, ElementsAre("demo.blink.internal", "192.0.2.7"));
  EXPECT_THAT(Certificate("operator/tls/client.crt").host_names, ElementsAre());
}

TEST_F(Provision, ListsWhoHasWhichCertificateUntilWhen) {
  InitDemo();
  ASSERT_TRUE(Enrol(out_, {.name = "nodes-0-9", .identity = {.first_node = 0, .last_node = 9}}).ok());
  ASSERT_TRUE(Enrol(out_, {.name = "node-10", .identity = {.first_node = 10, .last_node = 10}}).ok());
  ASSERT_TRUE(SignRequest(out_, "nodes-0-9", Request(), folder_ + "/a.crt", absl::Hours(24)).ok());
  ASSERT_TRUE(Revoke({.out = out_, .name = "nodes-0-9"}, absl::Hours(24)).ok());
  ASSERT_TRUE(SignRequest(out_, "nodes-0-9", Request(), folder_ + "/b.crt", absl::Hours(24 * 50)).ok());
  const auto states = [&](absl::Time now) {
    std::vector<std::string> found;
    const CertificateList list = ListCertificates(out_, now).value();
    for (const ListedCertificate& listed : list.certificates)
      found.push_back(absl::StrCat(listed.name, " ", listed.state));
    return found;
  };
  const absl::Time now = absl::Now();
  EXPECT_THAT(states(now), ElementsAre("nodes-0-9 revoked", "nodes-0-9 good", "node-10 none"));
  EXPECT_THAT(states(now + absl::Hours(24 * 21)),
              ElementsAre("nodes-0-9 revoked", "nodes-0-9 expires soon", "node-10 none"));
  EXPECT_THAT(states(now + absl::Hours(24 * 51)),
              ElementsAre("nodes-0-9 revoked", "nodes-0-9 expired", "node-10 none"));
  EXPECT_EQ(ListCertificates(folder_ + "/nowhere", now).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Provision, RefusesToSignForAnybodyElse) {
  InitDemo();
  const std::string certificate = folder_ + "/client.crt";
  const absl::Status status = SignRequest(out_, "mallory", Request(), certificate, absl::Hours(24)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nobody is enrolled as 'mallory'"));
  EXPECT_FALSE(fs::exists(certificate));
}

TEST_F(Provision, RefusesAMalformedRequestByItsFileName) {
  InitDemo();
  ASSERT_TRUE(Enrol(out_, {.name = "node-3", .identity = {.first_node = 3, .last_node = 3}}).ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/bad.csr", "garbage").ok());
  const absl::Status status =
      SignRequest(out_, "node-3", folder_ + "/bad.csr", folder_ + "/x.crt", absl::Hours(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad.csr"));
}

TEST_F(Provision, RefusesAFifoInPlaceOfAnyFileThatItReadsAndDoesNotWaitForIt) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 3)).ok());
  for (const std::string& name : {out_ + "/enrolment.json", out_ + "/ca/ca.crt", out_ + "/ca/ca.key",
                                  out_ + "/revoked.crl.pem", out_ + "/kits/nodes-3-5/kit.json", Request()}) {
    const std::string request = Request();
    fs::rename(name, folder_ + "/kept");
    ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
    std::vector<std::string> refusals;
    for (const absl::Status& status :
         {SignRequest(out_, "nodes-0-2", request, folder_ + "/x.crt", absl::Hours(1)).status(),
          RenewRevocationList(out_, absl::Hours(1)).status(), ChangeRoster({.out = out_}, absl::Hours(1)).status(),
          ListCertificates(out_, absl::Now()).status()}) {
      if (absl::IsInvalidArgument(status)) refusals.emplace_back(status.message());
    }
    EXPECT_THAT(refusals, Contains(HasSubstr(name + " is a device, a FIFO or a socket, not a regular file")));
    fs::rename(folder_ + "/kept", name);
  }
}

TEST_F(Provision, RefusesToEnrolTwiceOrPastTheRosterAndKeepsTheList) {
  InitDemo();
  ASSERT_TRUE(Enrol(out_, {.name = "node-3", .identity = {.first_node = 3, .last_node = 3}}).ok());
  const std::string before = Read("enrolment.json");
  EXPECT_EQ(Enrol(out_, {.name = "node-3", .identity = {.first_node = 3, .last_node = 3}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Enrol(out_, {.name = "nodes-0-100", .identity = {.first_node = 0, .last_node = 100}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read("enrolment.json"), before);
}

TEST_F(Provision, RefusesAKeyThatWasCertifiedBefore) {
  InitDemo();
  for (uint64_t node : {3, 4}) {
    ASSERT_TRUE(
        Enrol(out_, {.name = NameOfNodes(node, node), .identity = {.first_node = node, .last_node = node}}).ok());
  }
  const std::string request = Request();
  ASSERT_TRUE(SignRequest(out_, "node-3", request, folder_ + "/a.crt", absl::Hours(1)).ok());
  for (const char* name : {"node-3", "node-4"}) {
    const absl::Status status = SignRequest(out_, name, request, folder_ + "/b.crt", absl::Hours(1)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("issued to node-3 already"));
  }
  EXPECT_FALSE(fs::exists(folder_ + "/b.crt"));
  EXPECT_TRUE(SignRequest(out_, "node-3", Request(), folder_ + "/b.crt", absl::Hours(1)).ok())
      << "a new key for the same name";
}

TEST_F(Provision, AnAuthorityBeginsWithAnEmptyListThatItsAggregatorHas) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 3)).ok());
  const absl::StatusOr<RevocationList> list = RevocationList::Parse(Read("revoked.crl.pem"), Read("ca/ca.crt"));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->number(), 1u);
  EXPECT_EQ(list->size(), 0u);
  EXPECT_EQ(Read("aggregator/tls/revoked.crl.pem"), Read("revoked.crl.pem"));
  EXPECT_THAT(Read("aggregator/aggregator.conf"), HasSubstr("revocations=\"tls/revoked.crl.pem\""));
  EXPECT_EQ(Roster::FromJson(Read("aggregator/roster.json"))->node_count(), 10u);
}

TEST_F(Provision, ARevocationIsInTheListUnderAHigherNumber) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 3)).ok());
  std::string serial = Certificate("kits/nodes-3-5/tls/client.crt").serial;
  const std::string as_openssl_prints = absl::StrCat(absl::AsciiStrToUpper(serial.substr(0, 2)), ":", serial.substr(2));
  EXPECT_EQ(Revoke({.out = out_, .name = "nodes-3-5", .serial = as_openssl_prints, .reason = "key-compromise"},
                   absl::Hours(24))
                .value(),
            1u);
  EXPECT_EQ(Revoke({.out = out_, .name = "operator"}, absl::Hours(24)).value(), 1u);
  const absl::StatusOr<RevocationListSummary> renewed = RenewRevocationList(out_, absl::Hours(48));
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->number, 4u);
  EXPECT_EQ(renewed->revoked, 2u);
  const RevocationList list = RevocationList::Parse(Read("aggregator/tls/revoked.crl.pem"), Read("ca/ca.crt")).value();
  EXPECT_EQ(list.number(), 4u);
  EXPECT_EQ(list.size(), 2u);
  EXPECT_LT(absl::AbsDuration(list.next_update() - renewed->good_until), absl::Minutes(2));
  ASSERT_NE(list.Find(serial), nullptr);
  EXPECT_EQ(list.Find(serial)->reason, "key-compromise");
  EXPECT_THAT(Read("enrolment.json"), HasSubstr("key-compromise"));
}

TEST_F(Provision, ARestoredEnrolmentGivesNoCertificateBack) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 3)).ok());
  const std::string copy = Read("enrolment.json");
  ASSERT_TRUE(Revoke({.out = out_, .name = "operator"}, absl::Hours(24)).ok());
  const std::string list = Read("revoked.crl.pem"), newest = Read("enrolment.json");
  ASSERT_TRUE(WriteFileAtomically(out_ + "/enrolment.json", copy).ok());
  const absl::Status renewed = RenewRevocationList(out_, absl::Hours(24)).status();
  EXPECT_EQ(renewed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(renewed.message()), HasSubstr("1 revoked certificates more"));
  EXPECT_EQ(Revoke({.out = out_, .name = "nodes-3-5"}, absl::Hours(24)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Read("revoked.crl.pem"), list);
  EXPECT_EQ(Read("enrolment.json"), copy);
  ASSERT_TRUE(WriteFileAtomically(out_ + "/enrolment.json", newest).ok());
  EXPECT_TRUE(RenewRevocationList(out_, absl::Hours(24)).ok());
}

TEST_F(Provision, RefusesToRevokeNothing) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 3)).ok());
  const std::string before = Read("enrolment.json");
  EXPECT_FALSE(Revoke({.out = out_, .name = "mallory"}, absl::Hours(1)).ok());
  EXPECT_FALSE(Revoke({.out = out_, .name = "operator", .serial = "abc"}, absl::Hours(1)).ok());
  EXPECT_FALSE(Revoke({.out = out_, .name = "operator", .reason = "whim"}, absl::Hours(1)).ok());
  EXPECT_FALSE(Revoke({.out = folder_ + "/none", .name = "operator"}, absl::Hours(1)).ok());
  EXPECT_EQ(Read("enrolment.json"), before);
}

TEST_F(Provision, TheNextRosterReachesAggregatorKitsAndList) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 5)).ok());
  const std::string gone = Certificate("kits/nodes-2-3/tls/client.crt").serial;
  fs::rename(out_ + "/kits/nodes-8-9", folder_ + "/elsewhere");
  const absl::StatusOr<RosterSummary> summary =
      ChangeRoster({.out = out_, .node_count = 12, .retire = {{2, 4}}}, absl::Hours(1));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->version, 2u);
  EXPECT_EQ(summary->active_count, 9u);
  EXPECT_EQ(summary->kits, 3u);
  EXPECT_THAT(summary->kits_missing, ElementsAre("nodes-8-9"));
  EXPECT_THAT(summary->revoked, ElementsAre("nodes-2-3"));
  const Roster roster = Roster::FromJson(Read("aggregator/roster.json")).value();
  EXPECT_EQ(roster.version(), 2u);
  EXPECT_THAT(roster.retired(), ElementsAre(NodeRange{2, 4}));
  EXPECT_EQ(LoadKitConfig(out_ + "/kits/nodes-4-5")->node_count, 12u) << "retired in part: it goes on";
  EXPECT_THAT(LoadKitConfig(out_ + "/kits/nodes-4-5")->retired, ElementsAre(NodeRange{4, 4}));
  EXPECT_TRUE(LoadKitConfig(out_ + "/kits/nodes-0-1")->retired.empty());
  EXPECT_EQ(LoadKitConfig(out_ + "/kits/nodes-4-5")->roster_version, 2u);
  EXPECT_EQ(LoadKitConfig(out_ + "/kits/nodes-2-3")->roster_version, 1u);
  EXPECT_NE(RevocationList::Parse(Read("aggregator/tls/revoked.crl.pem"), Read("ca/ca.crt"))->Find(gone), nullptr);
  EXPECT_EQ(SignRequest(out_, "nodes-2-3", Request(), folder_ + "/x.crt", absl::Hours(1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Enrol(out_, {.name = "nodes-10-11", .identity = {.first_node = 10, .last_node = 11}}).ok());
}

TEST_F(Provision, WritesTheFilesOfTheRosterAgain) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 5)).ok());
  ASSERT_TRUE(ChangeRoster({.out = out_, .retire = {{2, 3}}}, absl::Hours(1)).ok());
  const std::string roster = Read("aggregator/roster.json");
  fs::remove(out_ + "/aggregator/roster.json");
  const absl::StatusOr<RosterSummary> again = ChangeRoster({.out = out_}, absl::Hours(1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->version, 2u);
  EXPECT_TRUE(again->revoked.empty());
  EXPECT_EQ(Read("aggregator/roster.json"), roster);
}

TEST_F(Provision, RefusesARosterThatShrinksAndLeavesEverything) {
  ASSERT_TRUE(ProvisionFleet(Fleet(10, 5)).ok());
  const std::string before = Read("enrolment.json"), roster = Read("aggregator/roster.json");
  EXPECT_FALSE(ChangeRoster({.out = out_, .node_count = 9}, absl::Hours(1)).ok());
  EXPECT_FALSE(ChangeRoster({.out = out_, .node_count = 10}, absl::Hours(1)).ok());
  EXPECT_FALSE(ChangeRoster({.out = out_, .retire = {{9, 10}}}, absl::Hours(1)).ok());
  EXPECT_FALSE(ChangeRoster({.out = out_, .retire = {{0, 7}}}, absl::Hours(1)).ok());
  EXPECT_EQ(Read("enrolment.json"), before);
  EXPECT_EQ(Read("aggregator/roster.json"), roster);
}

TEST_F(Provision, NeverReplacesAKey) {
  ASSERT_TRUE(MakeKeyAndRequest(folder_ + "/k", folder_ + "/r", "alice").ok());
  const std::string key = ReadFile(folder_ + "/k", 1 << 20).value();
  EXPECT_EQ(MakeKeyAndRequest(folder_ + "/k", folder_ + "/r", "alice").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile(folder_ + "/k", 1 << 20).value(), key);
}

TEST_F(Provision, OperatorConfRefusesUnknownKeysAndHalfATls) {
  const std::string path = folder_ + "/operator.conf";
  auto code = [&](const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return LoadOperatorConfig(path).status().code();
  };
  const std::string start = "aggregator=\"127.0.0.1:1\"\ndeployment=\"demo\"\n";
  EXPECT_EQ(code(start + "insecure=true\n"), absl::StatusCode::kOk);
  EXPECT_EQ(code(start), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(start + "insecure=true\ncolour=\"red\"\n"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(start + "insecure=perhaps\n"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("deployment=\"demo\"\ninsecure=true\n"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("aggregator=\"10.0.0.1:1\"\ndeployment=\"demo\"\ninsecure=true\n"),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadOperatorConfig(folder_ + "/none").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace blink
