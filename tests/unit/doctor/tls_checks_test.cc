// What is said of certificates, of revocation lists and of a connection that is not made.
#include "common/doctor/tls_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/pki/revocation.h"
#include "tests/testing/certificates.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsChecks : public testing::FolderTest {
 protected:
  TlsFiles Certify(const CertificateOptions& options, const std::string& name = "own") {
    return testing::WriteTlsFiles({Path(name + ".crt"), Path(name + ".key"), Path(name + ".ca")}, authority_,
                                  authority_.certificate, options);
  }
  auto Look(const TlsFiles& files) { return LookAtTlsFiles(files, CheckClientFiles(files), now_, diagnosis_); }
  std::vector<Severity> Severities(const std::string& check) const {
    std::vector<Severity> severities;
    for (const Finding& finding : diagnosis_.findings()) {
      if (finding.check == check) severities.push_back(finding.severity);
    }
    return severities;
  }
  auto Has(Severity severity, const std::string& check, const std::string& text) const {
    return Contains(AllOf(Field(&Finding::severity, severity), Field(&Finding::check, check),
                          Field(&Finding::text, HasSubstr(text))));
  }

  const absl::Time now_ = absl::Now();
  const CertificateAuthority authority_ = *CreateAuthority("test", absl::Hours(24 * 3650));
  const CertificateOptions good_ = {.uri_san = "blink://e2e/nodes/0-5", .valid_for = absl::Hours(24 * 365)};
  Diagnosis diagnosis_;
};

TEST_F(TlsChecks, AGoodCertificateIsReadWithItsIdentity) {
  const auto own = Look(Certify(good_));
  ASSERT_TRUE(own.has_value() && own->identity.has_value());
  EXPECT_TRUE(own->identity->Covers(5));
  EXPECT_EQ(diagnosis_.exit_code(), ExitCode::kOk);
  EXPECT_EQ(diagnosis_.Count(Severity::kWarning), 0u) << diagnosis_.ToText(0);
}

TEST_F(TlsChecks, ACertificateThatEndsSoonIsAWarningWithTheDays) {
  CertificateOptions options = good_;
  options.valid_for = absl::Hours(24 * 10);
  Look(Certify(options));
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kWarning, "certificate", "in 9 days"));
  EXPECT_EQ(diagnosis_.exit_code(), ExitCode::kOk);
}

TEST_F(TlsChecks, ACertificateThatHasEndedIsAnErrorInTheWordsOfAStart) {
  CertificateOptions options = good_;
  options.valid_from = now_ - absl::Hours(48);
  options.valid_for = absl::Hours(24);
  const TlsFiles files = Certify(options);
  Look(files);
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kError, "certificate", std::string(CheckTlsFiles(files).message())));
  EXPECT_EQ(diagnosis_.exit_code(), ExitCode::kBadInput);
}

TEST_F(TlsChecks, ACertificateOfTheFutureIsAnErrorThatNamesTheClock) {
  CertificateOptions options = good_;
  options.valid_from = now_ + absl::Hours(24);
  Look(Certify(options));
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kError, "certificate", "set the clock"));
}

TEST_F(TlsChecks, TheKeyOfAnotherCertificateIsAnError) {
  TlsFiles files = Certify(good_);
  files.key = Certify(good_, "other").key;
  Look(files);
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kError, "certificate", "does not belong to the certificate"));
}

TEST_F(TlsChecks, AnotherAuthorityIsAnError) {
  const TlsFiles files = Certify(good_);
  Write("own.ca", CreateAuthority("another", absl::Hours(1))->certificate);
  Look(files);
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kError, "certificate", "was not issued by the authority"));
}

TEST_F(TlsChecks, AMissingCertificateIsAnErrorAndNothingIsMadeUpOfIt) {
  EXPECT_FALSE(Look({Path("none.crt"), Path("none.key"), Path("none.ca")}).has_value());
  EXPECT_EQ(diagnosis_.findings().size(), 1u);
  EXPECT_EQ(diagnosis_.exit_code(), ExitCode::kBadInput);
}

TEST_F(TlsChecks, AnOpenKeyIsAWarningAndNeverShown) {
  const TlsFiles files = Certify(good_);
  ::chmod(files.key.c_str(), 0644);
  Look(files);
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kWarning, "key", "every user"));
  const std::string secret = Read("own.key").substr(40, 24);
  EXPECT_THAT(diagnosis_.ToText(0), Not(HasSubstr(secret)));
  EXPECT_THAT(diagnosis_.ToJson("x"), Not(HasSubstr("PRIVATE KEY")));
}

TEST_F(TlsChecks, AListThatNamesThisCertificateIsAnError) {
  const TlsFiles files = Certify(good_);
  const auto own = Look(files);
  Write("crl.pem", *SignRevocationList(authority_, {.this_update = now_ - absl::Hours(1),
                                                    .next_update = now_ + absl::Hours(24 * 60),
                                                    .revoked = {{own->info.serial, now_, "superseded"}}}));
  LookAtRevocations(Path("crl.pem"), files.ca, absl::OkStatus(), own, now_, diagnosis_);
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kError, "revocations", "names this machine's own certificate"));
}

TEST_F(TlsChecks, AListThatIsOutdatedOrOfTheFutureIsAWarning) {
  const TlsFiles files = Certify(good_);
  Write("old.pem", *SignRevocationList(authority_,
                                       {.this_update = now_ - absl::Hours(48), .next_update = now_ - absl::Hours(24)}));
  Write("new.pem", *SignRevocationList(
                       authority_, {.this_update = now_ + absl::Hours(2), .next_update = now_ + absl::Hours(24 * 60)}));
  LookAtRevocations(Path("old.pem"), files.ca, absl::OkStatus(), {}, now_, diagnosis_);
  EXPECT_THAT(Severities("revocations"), ElementsAre(Severity::kWarning));
  LookAtRevocations(Path("new.pem"), files.ca, absl::OkStatus(), {}, now_, diagnosis_);
  EXPECT_THAT(Severities("clock"), ElementsAre(Severity::kWarning));
}

TEST_F(TlsChecks, AListThatAStartRefusesIsAnErrorInItsWords) {
  LookAtRevocations(Path("crl.pem"), Path("own.ca"), absl::NotFoundError("cannot open crl.pem"), {}, now_, diagnosis_);
  EXPECT_THAT(diagnosis_.findings(), Has(Severity::kError, "revocations", "cannot open crl.pem"));
}

TEST_F(TlsChecks, AnAggregatorThatIsNotThereIsAnErrorWithItsAddress) {
  const TlsFiles files = Certify(good_);
  for (const TlsFiles* tls : {&files, static_cast<const TlsFiles*>(nullptr)}) {
    diagnosis_ = Diagnosis();
    EXPECT_FALSE(LookAtConnection(tls, "127.0.0.1:1", "", now_, diagnosis_));
    EXPECT_THAT(diagnosis_.findings(), Has(Severity::kError, "aggregator", "nothing listens at 127.0.0.1:1"));
    EXPECT_EQ(diagnosis_.exit_code(), ExitCode::kUnreachable);
  }
}

}  // namespace
}  // namespace blink
