#include "aggregator_server/audit_log/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/audit_log/audit_chain.h"
#include "common/base/durable_file.h"
#include "nlohmann/json.hpp"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class AuditLogTest : public testing::FolderTest {
 protected:
  std::unique_ptr<AuditLog> Open() {
    auto log = AuditLog::Open(path_, clock_);
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? *std::move(log) : nullptr;
  }
  // A log of `count` records, closed.
  void Make(int count) {
    const auto log = Open();
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(log->Append({.event = "asked", .who = absl::StrCat("operator/o", i), .action = "seal"}).ok());
    }
  }
  std::string Text() { return *ReadFile(path_, 1 << 20); }
  std::vector<std::string> Lines() { return absl::StrSplit(Text(), '\n', absl::SkipEmpty()); }
  void SetText(const std::string& text) { ASSERT_TRUE(WriteFileAtomically(path_, text).ok()); }
  void SetLines(const std::vector<std::string>& lines) { SetText(absl::StrCat(absl::StrJoin(lines, "\n"), "\n")); }
  void ExpectBroken(const std::string& why) {
    const auto read = ReadAuditLog(path_);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << read.status();
    EXPECT_THAT(read.status().message(), HasSubstr(why));
    EXPECT_THAT(read.status().message(), HasSubstr(path_));
    EXPECT_EQ(AuditLog::Open(path_, clock_).status().code(), absl::StatusCode::kDataLoss);
  }

  const std::string path_ = Path("audit.log");
  testing::ManualClock clock_;
};

TEST_F(AuditLogTest, RecordsAreInTheOrderOfTheirWritingAndFollowFromEachOther) {
  Make(3);
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(3));
  std::string previous(64, '0');
  for (size_t i = 0; i < lines.size(); ++i) {
    const nlohmann::json json = nlohmann::json::parse(lines[i]);
    EXPECT_EQ(json.at("number"), i + 1);
    EXPECT_EQ(json.at("previous"), previous);
    EXPECT_EQ(json.at("who"), absl::StrCat("operator/o", i));
    EXPECT_EQ(json.at("time"), "2027-01-15T08:00:00.000Z");
    previous = json.at("hash");
    const size_t body = lines[i].find(",\"hash\":");
    EXPECT_EQ(previous, DigestToHex(Sha256Of(lines[i].substr(0, body)))) << "as the format says, without this code";
  }
}

TEST_F(AuditLogTest, GoesOnWhereItStopped) {
  Make(2);
  const AuditChain before = ReadAuditLog(path_)->chain;
  const auto log = Open();
  EXPECT_EQ(log->chain().head, before.head);
  ASSERT_TRUE(log->Append({.event = "noted", .who = "aggregator", .action = "start"}).ok());
  EXPECT_EQ(ReadAuditLog(path_)->chain.records, 3u);
}

TEST_F(AuditLogTest, IsForItsOwnerAlone) {
  Make(1);
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, KeepsAnyTextInOneLine) {
  const std::string text = "a\"b\\c\n{\"hash\":\"x\"}\r\x01\xff\xc3\xa4,\"hash\":\"0\"}";
  {
    const auto log = Open();
    ASSERT_TRUE(log->Append({.event = text, .who = text, .action = text, .detail = text, .outcome = text}).ok());
    ASSERT_TRUE(log->Append({.event = "asked"}).ok());
  }
  EXPECT_THAT(Lines(), SizeIs(2));
  EXPECT_TRUE(ReadAuditLog(path_).ok());
}

TEST_F(AuditLogTest, AnyByteThatIsChangedIsFound) {
  Make(3);
  const std::string text = Text();
  for (size_t i = 0; i < text.size(); i += 7) {
    std::string changed = text;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    SetText(changed);
    EXPECT_FALSE(ReadAuditLog(path_).ok()) << "byte " << i;
  }
}

TEST_F(AuditLogTest, ARecordThatWasRemovedPutInOrMovedIsFound) {
  Make(4);
  const std::vector<std::string> lines = Lines();
  SetLines({lines[0], lines[2], lines[3]});
  ExpectBroken("record 2 does not follow");
  SetLines({lines[1], lines[2], lines[3]});
  ExpectBroken("record 1 does not follow");
  SetLines({lines[0], lines[2], lines[1], lines[3]});
  ExpectBroken("record 2 does not follow");
  SetLines({lines[0], lines[1], lines[1], lines[2]});
  ExpectBroken("record 3 does not follow");
  SetLines({lines[0], "", lines[1]});
  ExpectBroken("record 2 is no record");
}

TEST_F(AuditLogTest, ARecordThatIsMadeAnewWithItsOwnHashIsFound) {
  Make(3);
  std::vector<std::string> lines = Lines();
  AuditChain forged;
  ASSERT_TRUE(forged.Check(lines[0]).ok());
  lines[1] = forged.Extend({.event = "asked", .who = "operator/mallory", .action = "seal"}, clock_.Now());
  lines[1].pop_back();
  SetLines(lines);
  ExpectBroken("record 3 does not follow");
}

TEST_F(AuditLogTest, ALogThatWasCutIsFoundByAHashThatWasNotedBefore) {
  Make(4);
  const std::string noted = ReadAuditLog(path_)->chain.head;
  const std::vector<std::string> lines = Lines();
  EXPECT_EQ(ReadAuditLog(path_, noted)->found, 4u);
  SetLines({lines[0], lines[1]});
  const auto cut = ReadAuditLog(path_, noted);
  ASSERT_TRUE(cut.ok()) << "the records that are there follow from each other";
  EXPECT_EQ(cut->found, std::nullopt);
}

TEST_F(AuditLogTest, AnUnfinishedLineIsTakenOffAndThatIsNoted) {
  Make(2);
  const std::string whole = Text();
  SetText(absl::StrCat(whole, "{\"number\":3,\"ti"));
  EXPECT_EQ(ReadAuditLog(path_)->torn_bytes, 15u);
  {
    const auto log = Open();
    EXPECT_EQ(log->chain().records, 3u);
  }
  EXPECT_TRUE(absl::StartsWith(Text(), whole));
  EXPECT_THAT(Lines()[2], HasSubstr("15 bytes of an unfinished line"));
}

TEST_F(AuditLogTest, AnActIsRecordedBeforeAndAfterItWithItsOutcome) {
  const auto log = Open();
  const auto make = [](AuditRecord& record) {
    record.round_id = "r1";
    return absl::OkStatus();
  };
  EXPECT_TRUE(log->RecordAround({.who = "operator/ann", .action = "create"}, make).ok());
  const absl::Status refused = absl::NotFoundError("there is no round r2");
  EXPECT_EQ(log->RecordAround({.who = "operator/ann", .action = "seal"}, [&](AuditRecord&) { return refused; }),
            refused);
  const auto lines = Lines();
  ASSERT_THAT(lines, SizeIs(4));
  const auto events = {"asked", "answered", "asked", "answered"};
  for (size_t i = 0; i < 4; ++i) EXPECT_THAT(lines[i], HasSubstr(*(events.begin() + i)));
  EXPECT_THAT(lines[1], HasSubstr("r1"));
  EXPECT_THAT(lines[1], HasSubstr("\"OK\""));
  EXPECT_THAT(lines[3], HasSubstr("NOT_FOUND: there is no round r2"));
}

// No file of this process may grow meanwhile.
class Quota {
 public:
  explicit Quota(rlim_t bytes) {
    before_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~Quota() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  sighandler_t before_handler_;
};

TEST_F(AuditLogTest, CountsWhatWasWrittenAndWhatCouldNotBe) {
  Make(1);
  const auto log = Open();
  EXPECT_EQ(log->GetActivity().records, 0u) << "since it was opened";
  EXPECT_EQ(log->GetActivity().bytes, Text().size());
  EXPECT_EQ(log->GetActivity().last_failure, std::nullopt);
  ASSERT_TRUE(log->Append({.event = "asked", .who = "operator/ann", .action = "seal"}).ok());
  EXPECT_EQ(log->GetActivity().records, 1u);
  EXPECT_EQ(log->GetActivity().bytes, Text().size());
  bool is_done = false;
  const auto act = [&](AuditRecord&) {
    is_done = true;
    return absl::OkStatus();
  };
  absl::Status refused;
  {
    const Quota quota(Text().size());
    refused = log->RecordAround({.who = "operator/ann", .action = "seal"}, act);
  }
  EXPECT_FALSE(refused.ok());
  EXPECT_FALSE(is_done) << "an act that cannot be recorded";
  EXPECT_EQ(log->GetActivity().failed_writes, 1u);
  EXPECT_EQ(log->GetActivity().last_failure, absl::FromUnixMillis(absl::ToUnixMillis(clock_.Now())));
  EXPECT_EQ(log->GetActivity().records, 1u);
  EXPECT_TRUE(log->RecordAround({.who = "operator/ann", .action = "seal"}, act).ok());
  EXPECT_EQ(log->GetActivity().records, 3u);
  EXPECT_EQ(log->GetActivity().bytes, Text().size());
}

TEST_F(AuditLogTest, HasOneWriter) {
  const auto log = Open();
  EXPECT_EQ(AuditLog::Open(path_, clock_).status().code(), absl::StatusCode::kAborted);
}

TEST_F(AuditLogTest, RefusesWhatIsNoFile) {
  ASSERT_TRUE(MakeDirectories(path_).ok());
  EXPECT_FALSE(AuditLog::Open(path_, clock_).ok());
  EXPECT_FALSE(AuditLog::Open(Path("missing/audit.log"), clock_).ok());
  EXPECT_EQ(ReadAuditLog(Path("nothing")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(AuditLogTest, CountsRefusalsOfOneKindAndTellsThemOnceAMinuteAndAtTheEnd) {
  const auto denied = absl::PermissionDeniedError("no");
  {
    const auto log = Open();
    for (int i = 0; i < 1000; ++i) log->Refuse({.who = "node/7", .action = "seal", .round_id = "r"}, denied);
    EXPECT_EQ(log->chain().records, 1u);
    log->Refuse({.who = "node/7", .action = "cancel"}, denied);
    log->Refuse({.who = "node/7", .action = "seal"}, absl::UnauthenticatedError("expired"));
    EXPECT_EQ(log->chain().records, 3u);
    clock_.Jump(-absl::Hours(1));  // a clock that is set back hides nothing
    log->Refuse({.who = "node/7", .action = "cancel"}, denied);
    EXPECT_EQ(log->chain().records, 5u) << "with what was counted before";
  }
  EXPECT_THAT(Lines(), SizeIs(5));
  EXPECT_THAT(Text(), HasSubstr("the last of 999"));
}

TEST_F(AuditLogTest, NobodyHidesTheRefusalsOfOthersAndManyPeersTogetherFillNoDisk) {
  const auto denied = absl::PermissionDeniedError("no");
  const auto log = Open();
  for (int i = 0; i < 20; ++i) log->Refuse({.who = "node/1", .action = "create"}, denied);
  log->Refuse({.who = "reader/rita", .action = "create"}, denied);
  EXPECT_THAT(Lines(), SizeIs(2));
  EXPECT_THAT(Lines()[1], HasSubstr("reader/rita"));
  for (int i = 0; i < 10'000; ++i) log->Refuse({.who = absl::StrCat("node/", i), .action = "seal"}, denied);
  EXPECT_LE(log->chain().records, AuditLog::kKindsMax + 2);
  clock_.Advance(AuditLog::kQuiet);
  log->Refuse({.who = "reader/rob", .action = "seal"}, denied);
  EXPECT_THAT(Lines().back(), HasSubstr("reader/rob")) << "a minute later there is room again";
}

TEST_F(AuditLogTest, WhatWasCountedIsWrittenAMinuteLaterThoughNobodyCalls) {
  const auto log = Open();
  for (int i = 0; i < 3; ++i) log->Refuse({.who = "reader/bob", .action = "seal"}, absl::PermissionDeniedError("no"));
  log->Look();
  EXPECT_THAT(Lines(), SizeIs(1));
  clock_.Advance(AuditLog::kQuiet);
  log->Look();
  ASSERT_THAT(Lines(), SizeIs(2));
  EXPECT_THAT(Lines()[1], HasSubstr("the last of 2"));
  log->Look();
  EXPECT_THAT(Lines(), SizeIs(2));
}

TEST_F(AuditLogTest, ARecordStaysSmallWhateverACallerSends) {
  const auto log = Open();
  const std::string huge(2 << 20, '\x01');
  ASSERT_TRUE(log->Append({.event = "asked",
                           .who = huge,
                           .peer = huge,
                           .action = huge,
                           .round_id = huge,
                           .detail = huge,
                           .outcome = huge})
                  .ok());
  EXPECT_LT(Text().size(), 50'000u);
  EXPECT_TRUE(ReadAuditLog(path_).ok());
}

}  // namespace
}  // namespace blink
