#include "node_client/anchor.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/journal.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A journal whose anchor lies in a folder of its own, which stands for the second volume.
class AnchorTest : public ::testing::Test {
 protected:
  AnchorTest() { EXPECT_TRUE(CreateJournal(folder_.path(), identity_, anchor_).ok()); }

  absl::StatusOr<std::unique_ptr<Journal>> TryOpen() { return Journal::Open(folder_.path(), identity_, anchor_); }
  std::unique_ptr<Journal> Open() {
    auto journal = TryOpen();
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  void Draw(Journal& journal, uint32_t epoch, uint64_t epsilon_micro) {
    const auto parameters = *PrivacyParameters::Create(epsilon_micro, 100'000, 34);
    CodedReport report{std::string(5 + epsilon_micro % 7, 'b'), 5, {}};
    report.digest = ReportDigest(parameters, report.noisy_degree, report.coded_bits);
    journal.StageDraw(epoch, parameters, 3, report);
  }
  void CommitDraw(Journal& journal, uint64_t epsilon_micro) {
    if (!journal.epoch().has_value()) journal.StageEpoch(1, kNow, kit_.lists);
    Draw(journal, 1, epsilon_micro);
    ASSERT_TRUE(journal.Commit().ok());
  }
  // What a process would write first when it replaces the anchor: makes that fail as the file behind `target` does.
  void DivertAnchorTo(const std::string& target) {
    std::filesystem::create_symlink(target, absl::StrCat(anchor_, ".tmp.", ::getpid()));
  }
  std::string path() const { return folder_ / "journal.blj"; }

  TempFolder folder_, volume_;
  const std::string anchor_ = volume_ / "node.anchor";
  const Kit kit_ = MakeKit(3, 3);
  const JournalIdentity identity_ = IdentityOf(kit_);
};

TEST_F(AnchorTest, HasOneSpelling) {
  const Anchor anchor{{1, 2, 3}, 1234, Sha256Of("x")};
  const std::string text = AnchorToText(anchor);
  EXPECT_EQ(*ParseAnchor(text, "a"), anchor);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] ^= 1 << (bit % 8);
    const bool other_format = absl::IsFailedPrecondition(ParseAnchor(changed, "a").status());
    ASSERT_EQ(other_format, changed[13] != '1' && absl::ascii_isdigit(changed[13])) << bit;
    if (!other_format) {
      ASSERT_EQ(ParseAnchor(changed, "a").status().code(), absl::StatusCode::kDataLoss) << bit;
    }
  }
  for (size_t size = 0; size < text.size(); ++size) ASSERT_FALSE(ParseAnchor(text.substr(0, size), "a").ok());
  for (const char* more : {"\n", "x", "\n\n", " "}) ASSERT_FALSE(ParseAnchor(text + more, "a").ok());
}

TEST_F(AnchorTest, FollowsEveryCommit) {
  const auto journal = Open();
  for (uint64_t i = 1; i <= 3; ++i) {
    CommitDraw(*journal, i * 1'000'000);
    const auto anchor = ReadAnchor(anchor_);
    ASSERT_TRUE(anchor.ok()) << anchor.status();
    EXPECT_EQ(anchor->journal, journal->id());
    EXPECT_EQ(anchor->length, ReadText(path()).size());
  }
  EXPECT_TRUE(Journal::OpenReadOnly(folder_.path(), identity_, anchor_).ok());
}

TEST_F(AnchorTest, AJournalWithAnAnchorIsNotOpenedWithoutIt) {
  const absl::Status status = Journal::Open(folder_.path(), identity_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--anchor"));
  EXPECT_TRUE(Journal::OpenReadOnly(folder_.path(), identity_).ok()) << "the account may be asked without it";
}

TEST_F(AnchorTest, AMissingAnchorIsARefusalAndNoneIsMade) {
  std::filesystem::remove(anchor_);
  const absl::Status status = TryOpen().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(anchor_), HasSubstr("blink-node anchor --replace")));
  EXPECT_TRUE(std::filesystem::is_empty(volume_.path()));
}

TEST_F(AnchorTest, ADamagedAnchorIsARefusalAndStaysAsItIs) {
  CommitDraw(*Open(), 1'000'000);
  const std::string text = ReadText(anchor_), journal = ReadText(path());
  for (const std::string& damaged : {std::string(), text.substr(0, 50), text + "x", std::string(5000, 'x')}) {
    WriteText(anchor_, damaged);
    const absl::Status status = TryOpen().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is damaged"));
    EXPECT_EQ(ReadText(anchor_), damaged);
    EXPECT_EQ(ReadText(path()), journal);
  }
}

TEST_F(AnchorTest, AnOlderCopyOfTheJournalIsRefusedWithBothPositions) {
  CommitDraw(*Open(), 1'000'000);
  const std::string old = ReadText(path());
  CommitDraw(*Open(), 2'000'000);
  const size_t latest = ReadText(path()).size();
  WriteText(path(), old);
  const absl::Status status = TryOpen().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat("has seen ", latest, " bytes")),
                    HasSubstr(absl::StrCat("it has ", old.size())), HasSubstr("latest copy back")));
  EXPECT_EQ(ReadText(path()), old);
  EXPECT_EQ(Journal::OpenReadOnly(folder_.path(), identity_, anchor_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(AnchorTest, AnotherFutureOfAnOlderCopyIsRefusedEvenWhenItIsLonger) {
  CommitDraw(*Open(), 1'000'000);
  const std::string old = ReadText(path()), old_anchor = ReadText(anchor_);
  CommitDraw(*Open(), 2'000'000);
  const std::string anchor = ReadText(anchor_);
  WriteText(path(), old);
  WriteText(anchor_, old_anchor);
  for (const uint64_t epsilon : {3'000'000, 4'000'000}) CommitDraw(*Open(), epsilon);
  WriteText(anchor_, anchor);
  const absl::Status status = TryOpen().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("with another content"));
}

// What remains, and what docs/THREAT_MODEL.md says: both together cannot be told from the latest.
TEST_F(AnchorTest, AnAnchorThatWasRestoredTogetherWithItsJournalShowsNothing) {
  CommitDraw(*Open(), 1'000'000);
  const std::string old = ReadText(path()), old_anchor = ReadText(anchor_);
  CommitDraw(*Open(), 2'000'000);
  WriteText(path(), old);
  WriteText(anchor_, old_anchor);
  EXPECT_EQ(Open()->draws(), 1u);
}

TEST_F(AnchorTest, AJournalThatIsAheadGoesOnAndIsAnchoredBeforeAnythingIsSent) {
  CommitDraw(*Open(), 1'000'000);
  const std::string old_anchor = ReadText(anchor_);
  CommitDraw(*Open(), 2'000'000);
  const std::string anchor = ReadText(anchor_);
  WriteText(anchor_, old_anchor);  // as if the process had died between the two
  EXPECT_EQ(Open()->draws(), 2u);
  EXPECT_EQ(ReadText(anchor_), anchor);
}

TEST_F(AnchorTest, TheAnchorOfAnotherJournalIsRefused) {
  TempFolder other, other_volume;
  ASSERT_TRUE(CreateJournal(other.path(), identity_, other_volume / "a").ok());
  const auto status = Journal::Open(other.path(), identity_, anchor_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to another journal"));
}

TEST_F(AnchorTest, AnAnchorForAJournalThatHasNoneIsRefused) {
  TempFolder other;
  ASSERT_TRUE(CreateJournal(other.path(), identity_).ok());
  const auto status = Journal::Open(other.path(), identity_, anchor_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("blink-node anchor"));
}

TEST_F(AnchorTest, IsNeverReplacedByInitAndAFailingOneLeavesNoJournal) {
  TempFolder other;
  const std::string before = ReadText(anchor_);
  EXPECT_EQ(CreateJournal(other.path(), identity_, anchor_).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadText(anchor_), before);
  EXPECT_FALSE(std::filesystem::exists(other / "journal.blj"));
  EXPECT_EQ(CreateJournal(other.path(), identity_, volume_ / "not-mounted/a").code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(other / "journal.blj"));
  EXPECT_TRUE(CreateJournal(other.path(), identity_, volume_ / "a").ok());
}

TEST_F(AnchorTest, AFullSecondVolumeStopsTheJournalAndLosesNothing) {
  const auto journal = Open();
  CommitDraw(*journal, 1'000'000);
  const std::string before = ReadText(anchor_);
  DivertAnchorTo("/dev/full");
  Draw(*journal, 1, 2'000'000);
  const absl::Status status = journal->Commit();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("Nothing is sent"));
  EXPECT_EQ(ReadText(anchor_), before);
  EXPECT_EQ(journal->draws(), 1u) << "what is not anchored cannot be seen, and so not sent";
  journal->StageClock(kNow);
  EXPECT_FALSE(journal->Commit().ok()) << "until it is opened again";
}

TEST_F(AnchorTest, AfterAFailedAnchorTheNextProcessGoesOnWithTheDraw) {
  {
    const auto journal = Open();
    CommitDraw(*journal, 1'000'000);
    DivertAnchorTo("/dev/full");
    Draw(*journal, 1, 2'000'000);
    EXPECT_FALSE(journal->Commit().ok());
  }
  const auto journal = Open();
  EXPECT_EQ(journal->draws(), 2u);
  EXPECT_EQ(journal->SpentMicro(3), 3'000'000u);
  EXPECT_EQ(ReadAnchor(anchor_)->length, ReadText(path()).size());
}

TEST_F(AnchorTest, AReadOnlySecondVolumeIsARefusalAtTheStart) {
  CommitDraw(*Open(), 1'000'000);
  DivertAnchorTo("/sys/blink-anchor");  // where nobody, not even root, can make a file
  const absl::Status status = TryOpen().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("anchor"));
  EXPECT_EQ(JournalExitCode(status), ExitCode::kJournal);
}

TEST_F(AnchorTest, AnExistingJournalCanBeGivenOne) {
  TempFolder other;
  const std::string mine = volume_ / "mine";
  ASSERT_TRUE(CreateJournal(other.path(), identity_).ok());
  CommitDraw(**Journal::Open(other.path(), identity_), 1'000'000);
  EXPECT_EQ(AnchorJournal(other.path(), identity_, anchor_, false).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(AnchorJournal(other.path(), identity_, volume_ / "not-mounted/a", false).code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(Journal::Open(other.path(), identity_).ok()) << "a refusal changes nothing";
  ASSERT_TRUE(AnchorJournal(other.path(), identity_, mine, false).ok());
  EXPECT_FALSE(Journal::Open(other.path(), identity_).ok());
  EXPECT_EQ((*Journal::Open(other.path(), identity_, mine))->draws(), 1u);
}

TEST_F(AnchorTest, ALostAnchorIsReplacedOnlyExplicitly) {
  CommitDraw(*Open(), 1'000'000);
  std::filesystem::remove(anchor_);
  const absl::Status status = AnchorJournal(folder_.path(), identity_, anchor_, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--replace"));
  EXPECT_FALSE(std::filesystem::exists(anchor_));
  ASSERT_TRUE(AnchorJournal(folder_.path(), identity_, anchor_, true).ok());
  EXPECT_EQ(Open()->draws(), 1u);
}

// The whole kind: a journal cut anywhere, with every anchor that it ever had, is refused or knows all that was sent
// when that anchor was the latest.
TEST_F(AnchorTest, AJournalCutAtAnyByteIsRefusedOrLosesNothingThatWasSent) {
  struct Moment {
    std::string anchor;
    size_t length;
    uint64_t draws;
  };
  std::vector<Moment> moments;
  const auto remember = [&](const Journal& journal) {
    moments.push_back({ReadText(anchor_), ReadText(path()).size(), journal.draws()});
  };
  {
    const auto journal = Open();
    remember(*journal);
    CommitDraw(*journal, 1'000'000);
    remember(*journal);
    Draw(*journal, 1, 2'000'000);
    Draw(*journal, 1, 3'000'000);
    journal->StageRound(kRoundA, 1, *PrivacyParameters::Create(2'000'000, 100'000, 34));
    ASSERT_TRUE(journal->Commit().ok());
    remember(*journal);
    journal->StageReceipt(kRoundA, 3, *journal->FindDraw(1, *PrivacyParameters::Create(2'000'000, 100'000, 34), 3), 1);
    ASSERT_TRUE(journal->Commit().ok());
    remember(*journal);
  }
  const std::string whole = ReadText(path());
  int refused = 0, accepted = 0;
  for (const Moment& moment : moments) {
    for (size_t cut = 0; cut <= whole.size(); ++cut) {
      WriteText(anchor_, moment.anchor);
      WriteText(path(), whole.substr(0, cut));
      const auto reader = Journal::OpenReadOnly(folder_.path(), identity_, anchor_);
      ASSERT_EQ(reader.ok(), cut >= moment.length) << cut << " of " << moment.length << ": " << reader.status();
      ++(reader.ok() ? accepted : refused);
      if (reader.ok()) {
        ASSERT_GE((*reader)->draws(), moment.draws);
      }
      // At and beside the places that matter, what a writing process does; each of these opens costs four fsyncs.
      const bool near = cut + 1 >= moment.length && cut <= moment.length + 1;
      if (!near && cut % 23 != 0) continue;
      const auto writer = TryOpen();
      ASSERT_EQ(writer.ok(), reader.ok()) << cut << ": " << writer.status();
      if (writer.ok()) {
        ASSERT_EQ(ReadAnchor(anchor_)->length, ReadText(path()).size());
      } else {
        ASSERT_EQ(ReadText(anchor_), moment.anchor);
        ASSERT_EQ(ReadText(path()).size(), cut) << "a refusal changes nothing";
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(accepted, 100);
}

TEST_F(AnchorTest, ALinkToTheSecondVolumeStaysOne) {
  const std::string link = folder_ / "link";
  std::filesystem::create_symlink(anchor_, link);
  const auto journal = Journal::Open(folder_.path(), identity_, link);
  ASSERT_TRUE(journal.ok()) << journal.status();
  CommitDraw(**journal, 1'000'000);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadAnchor(anchor_)->length, ReadText(path()).size());
  // The volume is gone: nothing takes the link's place, and nothing may be sent.
  std::filesystem::remove(anchor_);
  std::filesystem::remove(volume_.path());
  Draw(**journal, 1, 2'000'000);
  EXPECT_FALSE((*journal)->Commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  TempFolder other;
  EXPECT_EQ(CreateJournal(other.path(), identity_, link).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(AnchorTest, ReplacingItOverwritesNeitherAJournalNorAnothersAnchor) {
  TempFolder other;
  const std::string others = volume_ / "other.anchor";
  ASSERT_TRUE(CreateJournal(other.path(), identity_, others).ok());
  const std::string journal = ReadText(path());
  for (const std::string& target : {path(), folder_ / "journal.lock", others}) {
    EXPECT_EQ(AnchorJournal(folder_.path(), identity_, target, true).code(), absl::StatusCode::kAlreadyExists)
        << target;
  }
  EXPECT_EQ(ReadText(path()), journal);
  EXPECT_TRUE(Journal::Open(other.path(), identity_, others).ok());
  // Its own, and what damage left of it, may be.
  EXPECT_TRUE(AnchorJournal(folder_.path(), identity_, anchor_, true).ok());
  std::filesystem::resize_file(anchor_, 10);
  EXPECT_TRUE(AnchorJournal(folder_.path(), identity_, anchor_, true).ok());
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(AnchorTest, AFifoInItsPlaceIsRefusedAndNeitherWaitedForNorReplaced) {
  std::filesystem::remove(anchor_);
  ASSERT_EQ(::mkfifo(anchor_.c_str(), 0600), 0);
  for (const absl::Status& status : {TryOpen().status(), AnchorJournal(folder_.path(), identity_, anchor_, true)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("not a regular file"));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(anchor_));
}

TEST_F(AnchorTest, InitRefusesTheJournalItselfForIt) {
  TempFolder folder;
  EXPECT_EQ(CreateJournal(folder.path(), identity_, folder / "journal.blj").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(std::filesystem::exists(folder / "journal.blj"));
}

TEST_F(AnchorTest, OfTwoCopiesThatRunBesideEachOtherTheSecondDrawsNothing) {
  const auto journal = Open();
  CommitDraw(*journal, 1'000'000);
  TempFolder machine;
  std::filesystem::copy_file(path(), machine / "journal.blj");
  const auto copy = Journal::Open(machine.path(), identity_, anchor_);
  ASSERT_TRUE(copy.ok()) << copy.status();
  CommitDraw(**copy, 2'000'000);
  const std::string before = ReadText(path());
  Draw(*journal, 1, 2'000'000);
  const absl::Status status = journal->Commit();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a copy of"));
  EXPECT_EQ(ReadText(path()), before);
  CommitDraw(**copy, 3'000'000);
}

TEST_F(AnchorTest, AVolumeThatGoesAwayIsNotReplacedByAFileInItsMountPoint) {
  const auto journal = Open();
  const std::string elsewhere = folder_ / "elsewhere", before = ReadText(path());
  std::filesystem::rename(anchor_, elsewhere);
  journal->StageEpoch(1, kNow, kit_.lists);
  EXPECT_EQ(journal->Commit().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(anchor_));
  EXPECT_EQ(ReadText(path()), before);
  std::filesystem::rename(elsewhere, anchor_);
  CommitDraw(*journal, 1'000'000);
}

}  // namespace
}  // namespace blink
