#include "aggregator_server/transport/certificate_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/log_capture.h"

namespace blink {
namespace {

using ::testing::AllOf;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::ManualClock;

class CertificateGuardTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(WriteFileAtomically(Options().ca_path, authority_.certificate).ok()); }

  RevocationOptions Options(bool refuse_when_outdated = false) const {
    return {folder_ / "revoked.crl.pem", folder_ / "ca.crt", folder_ / "memory", refuse_when_outdated};
  }
  std::string Certificate(absl::Duration valid_for = absl::Hours(24)) {
    return SignRequest(authority_, MakeRequest(GenerateKey().value(), "x").value(),
                       {.uri_san = "blink://demo/node/3", .valid_for = valid_for, .valid_from = clock_.Now()})
        .value();
  }
  static std::string SerialOf(const std::string& certificate) { return InspectCertificate(certificate)->serial; }
  std::string List(uint64_t number, const std::vector<std::string>& certificates = {}) {
    RevocationListOptions options = {
        .number = number, .this_update = clock_.Now(), .next_update = clock_.Now() + absl::Hours(48)};
    for (const std::string& certificate : certificates) {
      options.revoked.push_back({SerialOf(certificate), clock_.Now(), "key-compromise"});
    }
    return SignRevocationList(authority_, options).value();
  }
  void Publish(const std::string& list) { ASSERT_TRUE(WriteFileAtomically(Options().path, list).ok()); }
  absl::Status LoadStatus(bool refuse_when_outdated = false) {
    return Revocations::Load(Options(refuse_when_outdated), clock_).status();
  }
  std::unique_ptr<CertificateGuard> Guard(bool refuse_when_outdated = false) {
    return std::make_unique<CertificateGuard>(Revocations::Load(Options(refuse_when_outdated), clock_).value(), clock_);
  }

  testing::TempFolder folder_;
  ManualClock clock_;
  const CertificateAuthority authority_ = CreateAuthority("the authority", absl::Hours(24)).value();
};

TEST_F(CertificateGuardTest, TakesAGoodCertificate) {
  Publish(List(1, {Certificate()}));
  const auto guard = Guard();
  const std::string certificate = Certificate();
  EXPECT_TRUE(guard->Check(certificate).ok());
  const auto stream = guard->OpenStream(certificate, "somebody", [](const absl::Status&) { FAIL(); });
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(guard->open_streams(), 1u);
  guard->CloseStream(*stream);
  guard->CloseStream(*stream);
  EXPECT_EQ(guard->open_streams(), 0u);
}

TEST_F(CertificateGuardTest, RefusesARevokedCertificateByItsSerialNumber) {
  const std::string certificate = Certificate();
  Publish(List(1, {certificate}));
  const auto guard = Guard();
  const absl::Status refused = guard->Check(certificate);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(SerialOf(certificate)), HasSubstr("key-compromise"), HasSubstr("blink provision sign")));
  EXPECT_EQ(guard->OpenStream(certificate, "somebody", [](const absl::Status&) { FAIL(); }).status(), refused);
}

TEST_F(CertificateGuardTest, ANewListCutsTheStreamsOfWhomItNamesAndNoOther) {
  Publish(List(1));
  const LogCapture captured;
  auto guard = Guard();
  const std::string revoked = Certificate(), good = Certificate();
  std::atomic<int> cuts{0}, wrong{0};
  absl::Status why;
  ASSERT_TRUE(guard
                  ->OpenStream(revoked, "a",
                               [&](const absl::Status& status) {
                                 why = status;
                                 ++cuts;
                               })
                  .ok());
  ASSERT_TRUE(guard->OpenStream(revoked, "b", [&](const absl::Status&) { ++cuts; }).ok());
  ASSERT_TRUE(guard->OpenStream(good, "c", [&](const absl::Status&) { ++wrong; }).ok());
  Publish(List(2, {revoked}));
  ASSERT_TRUE(Eventually([&] { return cuts == 2; }));
  EXPECT_EQ(why.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(guard->open_streams(), 1u);
  EXPECT_FALSE(guard->Check(revoked).ok());
  EXPECT_TRUE(guard->Check(good).ok());
  guard.reset();
  const std::string log = captured.text();
  EXPECT_THAT(log,
              AllOf(HasSubstr("cut a stream of "), HasSubstr(", and 1 more: the certificate with serial number ")));
  EXPECT_EQ(log.find("cut a stream"), log.rfind("cut a stream")) << "one line for a certificate: " << log;
}

TEST_F(CertificateGuardTest, AnExpiredCertificateIsRefusedAndItsStreamCut) {
  Publish(List(1));
  const auto guard = Guard();
  const std::string certificate = Certificate(absl::Hours(2));
  std::atomic<int> cuts{0};
  ASSERT_TRUE(guard->OpenStream(certificate, "a", [&](const absl::Status&) { ++cuts; }).ok());
  clock_.Advance(absl::Hours(3));
  EXPECT_TRUE(Eventually([&] { return cuts == 1; }));
  const absl::Status refused = guard->Check(certificate);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("expired on"), HasSubstr(SerialOf(certificate))));
}

TEST_F(CertificateGuardTest, DatesCountWithoutAListToo) {
  CertificateGuard guard(nullptr, clock_);
  const std::string certificate = Certificate(absl::Hours(2));
  EXPECT_TRUE(guard.Check(certificate).ok());
  clock_.Advance(absl::Hours(3));
  EXPECT_FALSE(guard.Check(certificate).ok());
}

TEST_F(CertificateGuardTest, RefusesWhatIsNoCertificate) {
  CertificateGuard guard(nullptr, clock_);
  EXPECT_EQ(guard.Check("garbage").code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(CertificateGuardTest, ABadListLeavesTheOneBeforeInForce) {
  const std::string certificate = Certificate();
  const std::string old_list = List(4);
  Publish(List(5, {certificate}));
  const auto revocations = Revocations::Load(Options(), clock_).value();
  const CertificateAuthority other = CreateAuthority("the authority", absl::Hours(1)).value();
  const std::string foreign =
      SignRevocationList(other,
                         {.number = 9, .this_update = clock_.Now(), .next_update = clock_.Now() + absl::Hours(1)})
          .value();
  for (const std::string& bad : {std::string("garbage"), std::string(), foreign, old_list, List(5)}) {
    Publish(bad);
    EXPECT_FALSE(revocations->Reread(false)) << bad;
    EXPECT_EQ(revocations->list()->number(), 5u);
    EXPECT_NE(revocations->list()->Find(SerialOf(certificate)), nullptr);
  }
  std::filesystem::remove(Options().path);
  EXPECT_FALSE(revocations->Reread(false));
  EXPECT_EQ(revocations->list()->number(), 5u);
  Publish(List(6));
  EXPECT_TRUE(revocations->Reread(false));
  EXPECT_EQ(revocations->list()->number(), 6u);
  EXPECT_FALSE(revocations->Reread(false)) << "nothing has changed";
}

TEST_F(CertificateGuardTest, DoesNotStartWithoutAGoodList) {
  EXPECT_EQ(LoadStatus().code(), absl::StatusCode::kNotFound);
  Publish("garbage");
  EXPECT_EQ(LoadStatus().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(LoadStatus().message()), HasSubstr(Options().path));
}

TEST_F(CertificateGuardTest, ARestartDoesNotGoBackToAnOlderList) {
  const std::string old_list = List(1);
  Publish(List(2));
  ASSERT_TRUE(LoadStatus().ok());
  Publish(old_list);
  EXPECT_EQ(LoadStatus().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(LoadStatus().message()), HasSubstr("number 2 was in force"));
  Publish(List(2));
  EXPECT_TRUE(LoadStatus().ok());
}

TEST_F(CertificateGuardTest, ARestartDoesNotTakeAListOfTheSameNumberThatNamesFewer) {
  const std::string first = Certificate(), second = Certificate();
  Publish(List(2, {first}));
  ASSERT_TRUE(LoadStatus().ok());
  Publish(List(2, {second}));
  EXPECT_EQ(LoadStatus().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(LoadStatus().message()), HasSubstr("names more certificates"));
  Publish(List(2, {first, second}));
  EXPECT_TRUE(LoadStatus().ok());
}

// A full disk: a folder in the way of the file fails as it does.
TEST_F(CertificateGuardTest, AListThatCannotBeKeptIsInForceAndKeptLater) {
  const std::string certificate = Certificate();
  Publish(List(1));
  const auto revocations = Revocations::Load(Options(), clock_).value();
  std::filesystem::remove(Options().memory_path);
  std::filesystem::create_directory(Options().memory_path);
  Publish(List(2, {certificate}));
  EXPECT_TRUE(revocations->Reread(false));
  EXPECT_EQ(revocations->Check(*InspectCertificate(certificate)).code(), absl::StatusCode::kUnauthenticated);
  std::filesystem::remove(Options().memory_path);
  EXPECT_FALSE(revocations->Reread(false));
  Publish(List(1));
  EXPECT_EQ(LoadStatus().code(), absl::StatusCode::kFailedPrecondition) << "number 2 was not kept";
}

// Without descriptors the list cannot be read; nothing about the file changes when there are some again.
TEST_F(CertificateGuardTest, AListThatCouldNotBeReadIsReadLater) {
  const std::string certificate = Certificate();
  Publish(List(1));
  const auto revocations = Revocations::Load(Options(), clock_).value();
  Publish(List(2, {certificate}));
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {3, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool taken = revocations->Reread(false);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_FALSE(taken);
  EXPECT_TRUE(revocations->Reread(false));
  EXPECT_EQ(revocations->list()->number(), 2u);
}

TEST_F(CertificateGuardTest, AnOutdatedListStaysInForceUnlessToldOtherwise) {
  const std::string revoked = Certificate(absl::Hours(900)), good = Certificate(absl::Hours(900));
  Publish(List(1, {revoked}));
  const auto lenient = Guard(), strict = Guard(/*refuse_when_outdated=*/true);
  clock_.Advance(absl::Hours(100));
  EXPECT_TRUE(lenient->Check(good).ok());
  EXPECT_FALSE(lenient->Check(revoked).ok());
  EXPECT_EQ(strict->Check(good).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(LoadStatus(false).ok());
  EXPECT_EQ(LoadStatus(true).code(), absl::StatusCode::kFailedPrecondition);
  Publish(List(2));
  EXPECT_TRUE(Eventually([&] { return strict->Check(good).ok(); }));
}

}  // namespace
}  // namespace blink
