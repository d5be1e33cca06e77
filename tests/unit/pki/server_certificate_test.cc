#include "common/pki/server_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "common/pki/expiry.h"
#include "common/pki/identity.h"
#include "common/pki/pki.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

constexpr char kServerUri[] = "blink://demo/aggregator";

class ServerCertificate : public ::testing::Test {
 protected:
  std::string Issue(const CertificateAuthority& authority, CertificateOptions options) const {
    return SignRequest(authority, MakeRequest(GenerateKey().value(), "x").value(), options).value();
  }
  void ExpectRefused(const std::string& certificate, const std::string& why, absl::Time now = absl::Now()) const {
    const absl::Status refused = CheckServerCertificate(certificate, ours_.certificate, "demo", now);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << why;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(why));
  }
  const CertificateAuthority ours_ = CreateAuthority("ours", absl::Hours(48)).value();
  const CertificateAuthority theirs_ = CreateAuthority("ours", absl::Hours(48)).value();
};

TEST_F(ServerCertificate, TheAggregatorsIsAcceptedWhateverHostNamesItHas) {
  const std::string old = Issue(ours_, {.uri_san = kServerUri, .server = true});
  const std::string named = Issue(
      ours_,
      {.uri_san = kServerUri, .dns_names = {"demo.blink.internal"}, .ip_addresses = {"10.0.0.1"}, .server = true});
  EXPECT_TRUE(CheckServerCertificate(old, ours_.certificate, "demo", absl::Now()).ok());
  EXPECT_TRUE(CheckServerCertificate(named, ours_.certificate, "demo", absl::Now()).ok());
  // a file of several authorities, as when one follows the other
  EXPECT_TRUE(CheckServerCertificate(old, theirs_.certificate + ours_.certificate, "demo", absl::Now()).ok());
}

TEST_F(ServerCertificate, EveryOtherNameIsRefused) {
  for (const char* uri : {"blink://other/aggregator", "blink://demo/node/3", "blink://demo/operator/ann",
                          "blink://demo/aggregator/", "https://example.org"}) {
    ExpectRefused(Issue(ours_, {.uri_san = uri, .server = true}), "not blink://demo/aggregator");
  }
}

TEST_F(ServerCertificate, NoNameAndTwoNamesAreRefused) {
  EXPECT_EQ(CheckServerNames({}, "demo").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(CheckServerNames({}, "demo").message()), HasSubstr("carries no URI"));
  EXPECT_THAT(std::string(CheckServerNames({kServerUri, kServerUri}, "demo").message()),
              HasSubstr("is blink://demo/aggregator and blink://demo/aggregator, not"));
}

TEST_F(ServerCertificate, AClientsIsRefused) {
  ExpectRefused(Issue(ours_, {.uri_san = kServerUri, .server = false}), "it is not one for servers");
}

TEST_F(ServerCertificate, AnotherAuthoritysIsRefusedEvenWithTheSameName) {
  ExpectRefused(Issue(theirs_, {.uri_san = kServerUri, .server = true}), "does not verify against our CA");
}

TEST_F(ServerCertificate, ThePastAndTheFutureAreRefusedWithTheirDates) {
  const std::string certificate = Issue(ours_, {.uri_san = kServerUri, .server = true, .valid_for = absl::Hours(2)});
  ExpectRefused(certificate, "expired", absl::Now() + absl::Hours(3));
  ExpectRefused(certificate, "this machine's clock says ", absl::Now() + absl::Hours(3));
  ExpectRefused(certificate, "not yet valid", absl::Now() - absl::Hours(9));
}

TEST_F(ServerCertificate, WhatIsNoCertificateIsMalformed) {
  for (const std::string& text : {std::string(), std::string("garbage"), GenerateKey().value()}) {
    EXPECT_EQ(CheckServerCertificate(text, ours_.certificate, "demo", absl::Now()).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(AggregatorsDnsName, IsAHostNameWhereTheDeploymentIsALabel) {
  const auto name = [](const std::string& deployment) {
    return Identity{.kind = Identity::Kind::kAggregator, .deployment = deployment}.DnsName();
  };
  EXPECT_EQ(name("demo"), "demo.blink.internal");
  EXPECT_EQ(name(std::string(63, 'a')), std::string(63, 'a') + ".blink.internal");
  for (const std::string& no_label : {std::string(64, 'a'), std::string("-a"), std::string("a-"), std::string("-")}) {
    EXPECT_EQ(name(no_label), "");
  }
  EXPECT_EQ((Identity{.kind = Identity::Kind::kOperator, .deployment = "demo", .name = "ann"}.DnsName()), "");
}

TEST(Expiry, IsSaidOnceADayFromThirtyDaysOnAndAtTheEnd) {
  ExpiryReminder reminder;
  const absl::Time until = absl::FromUnixSeconds(1'900'000'000);
  int said = 0, over = 0;
  for (absl::Time now = until - absl::Hours(24 * 40); now < until + absl::Hours(48); now += absl::Minutes(30)) {
    const std::string line = reminder.Remind("x", until, now, "renew it");
    if (line.empty()) continue;
    EXPECT_LE(until - now, absl::Hours(24 * 30));
    ++(line.find("expired") != std::string::npos ? over : said);
  }
  EXPECT_EQ(said, 30 + 1);  // both ends of thirty days
  EXPECT_EQ(over, 2);
  EXPECT_EQ(reminder.Remind("x", until, until + absl::Hours(48), "renew it"), "") << "said already today";
  EXPECT_EQ(reminder.Remind("x", until + absl::Hours(24 * 365), until, "renew it"), "") << "it was renewed";
  EXPECT_THAT(reminder.Remind("y", until, until - absl::Hours(30), "renew it"),
              HasSubstr("y expires on 2030-03-17 17:46:40 UTC, in 1 day: renew it"));
}

}  // namespace
}  // namespace blink
