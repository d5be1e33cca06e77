#include "aggregator_server/ingest/refused_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace blink {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);
const absl::Status kDenied = absl::PermissionDeniedError("node 7 is retired");

TEST(RefusedReports, CountsWhatOneNodeWasRefusedWithOneCode) {
  RefusedReports refused(kStart);
  refused.Note("a", 7, "node/7", kDenied, kStart + absl::Seconds(1));
  refused.Note("a", 7, "node/7", absl::PermissionDeniedError("another message"), kStart + absl::Seconds(9));
  refused.Note("a", 7, "node/7", absl::InvalidArgumentError("malformed"), kStart + absl::Seconds(3));
  refused.Note("a", 7, "nodes/0-9", kDenied, kStart + absl::Seconds(4));
  refused.Note("a", 2, "nodes/0-9", kDenied, kStart + absl::Seconds(5));
  refused.Note("b", 1, "node/1", kDenied, kStart);
  const RefusedReports::Listing listing = refused.List("a");
  ASSERT_THAT(listing.reports, SizeIs(4));
  EXPECT_EQ(listing.since, kStart);
  EXPECT_EQ(listing.reports[0].node, 2u) << "ascending nodes";
  const RefusedReport& twice = listing.reports[2];
  EXPECT_EQ(twice.by, "node/7");
  EXPECT_EQ(twice.count, 2u);
  EXPECT_EQ(twice.first, kStart + absl::Seconds(1));
  EXPECT_EQ(twice.last, kStart + absl::Seconds(9));
  EXPECT_EQ(twice.why.message(), "another message");
  EXPECT_THAT(refused.List("c").reports, IsEmpty());
}

TEST(RefusedReports, LeavesOutWhatPassesByItself) {
  RefusedReports refused(kStart);
  for (const absl::Status& why :
       {absl::ResourceExhaustedError("full"), absl::UnavailableError("ending"), absl::CancelledError("gone"),
        absl::DeadlineExceededError("slow"), absl::OkStatus()}) {
    refused.Note("a", 7, "node/7", why, kStart);
  }
  EXPECT_THAT(refused.List("a").reports, IsEmpty());
}

TEST(RefusedReports, APeerThatMakesUpNodesFillsNoMemory) {
  RefusedReports refused(kStart);
  for (uint64_t node = 0; node < RefusedReports::kOfACertificateMax + 100; ++node) {
    refused.Note("a", node, "node/3", kDenied, kStart);
  }
  refused.Note("a", 0, "node/3", kDenied, kStart);
  EXPECT_THAT(refused.List("a").reports, SizeIs(RefusedReports::kOfACertificateMax));
  EXPECT_EQ(refused.List("a").left_out, 100u);
  EXPECT_EQ(refused.List("a").reports[0].count, 2u);
  refused.Note("b", 1, "node/1", absl::InvalidArgumentError(std::string(100'000, 'x')), kStart);
  EXPECT_THAT(refused.List("b").reports[0].why.message(), SizeIs(RefusedReports::kMessageCharactersMax));
}

TEST(RefusedReports, PeersTogetherLeaveRoomForSecondReports) {
  RefusedReports refused(kStart);
  for (int peer = 0; peer < 10; ++peer) {
    for (uint64_t node = 0; node < 1000; ++node) {
      refused.Note("a", node, absl::StrCat("nodes/", peer), kDenied, kStart);
    }
  }
  EXPECT_THAT(refused.List("a").reports, SizeIs(RefusedReports::kOfARoundMax - RefusedReports::kKeptForSecondReports));
  for (uint64_t node = 0; node < RefusedReports::kKeptForSecondReports + 5; ++node) {
    refused.Note("a", node, absl::StrCat("node/", node), absl::AlreadyExistsError("used twice"), kStart);
  }
  EXPECT_THAT(refused.List("a").reports, SizeIs(RefusedReports::kOfARoundMax));
}

TEST(RefusedReports, ForgetsTheRoundThatWasQuietLongest) {
  RefusedReports refused(kStart);
  for (size_t i = 0; i < kRoundsListedMax; ++i) {
    refused.Note(absl::StrCat("round ", i), 1, "node/1", kDenied, kStart + absl::Seconds(i));
  }
  refused.Note("round 0", 1, "node/1", kDenied, kStart + absl::Hours(1));
  refused.Note("new", 1, "node/1", kDenied, kStart + absl::Hours(2));
  EXPECT_THAT(refused.List("new").reports, SizeIs(1));
  EXPECT_THAT(refused.List("round 0").reports, SizeIs(1));
  EXPECT_THAT(refused.List("round 1").reports, IsEmpty());
}

TEST(RefusedReports, KeepsNothingOfARoundWithoutAName) {
  RefusedReports refused(kStart);
  refused.Note("", 1, "node/1", kDenied, kStart);
  EXPECT_THAT(refused.List("").reports, IsEmpty());
}

}  // namespace
}  // namespace blink
