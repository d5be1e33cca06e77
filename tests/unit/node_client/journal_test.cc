#include "node_client/journal.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/journal_format.h"
#include "tests/unit/node_client/fakes.h"

namespace {
bool disk_is_broken = false;
}  // namespace

// Instead of the C library's, so that a test can say what a disk says that has lost a write.
extern "C" int fdatasync(int fd) {
  if (!disk_is_broken) return static_cast<int>(::syscall(SYS_fdatasync, fd));
  errno = EIO;
  return -1;
}

namespace blink {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

CodedReport MakeReport(const PrivacyParameters& parameters, const std::string& bits, std::optional<int64_t> degree) {
  CodedReport report{bits, degree, {}};
  report.digest = ReportDigest(parameters, report.noisy_degree, report.coded_bits);
  return report;
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() { EXPECT_TRUE(CreateJournal(folder_.path(), identity_).ok()); }
  std::unique_ptr<Journal> Open() {
    auto journal = Journal::Open(folder_.path(), identity_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  // An epoch, two draws, a round and a receipt.
  void Fill(Journal& journal) {
    journal.StageEpoch(1, kNow, kit_.lists);
    journal.StageDraw(1, parameters_, 3, MakeReport(parameters_, "abc", 5));
    journal.StageDraw(1, parameters_, 4, MakeReport(parameters_, "defg", -2));
    journal.StageRound(kRoundA, 1, parameters_);
    ASSERT_TRUE(journal.Commit().ok());
    journal.StageReceipt(kRoundA, 4, *journal.FindDraw(1, parameters_, 4), 7);
    ASSERT_TRUE(journal.Commit().ok());
  }
  std::string path() const { return folder_ / "journal.blj"; }

  TempFolder folder_;
  const Kit kit_ = MakeKit(3, 4);
  const JournalIdentity identity_ = IdentityOf(kit_);
  const PrivacyParameters parameters_ = MakeRound(kRoundA).parameters;
};

TEST_F(JournalTest, GivesTheSameBytesAfterReopening) {
  Fill(*Open());
  const auto journal = Open();
  EXPECT_EQ(journal->draws(), 2u);
  EXPECT_EQ(journal->receipts(), 1u);
  EXPECT_EQ(journal->SpentMicro(3), 2'000'000u);
  EXPECT_EQ(journal->SpentMicroMax(), 2'000'000u);
  EXPECT_EQ(journal->LoadReport(1, parameters_, 3)->coded_bits, "abc");
  EXPECT_EQ(journal->LoadReport(1, parameters_, 4)->coded_bits, "defg");
  EXPECT_EQ(journal->LoadReport(1, parameters_, 4)->noisy_degree, -2);
  EXPECT_EQ(journal->RoundBinding(kRoundA)->epoch, 1u);
  EXPECT_FALSE(journal->RoundBinding(kRoundB).has_value());
  EXPECT_FALSE(journal->HasReceipt(kRoundA, 3));
  EXPECT_TRUE(journal->HasReceipt(kRoundA, 4));
  EXPECT_EQ(journal->snapshot(), kit_.lists);
  EXPECT_EQ(journal->epoch()->started, kNow);
}

TEST_F(JournalTest, ShowsNothingOfWhatIsStagedButNotCommitted) {
  const auto journal = Open();
  journal->StageEpoch(1, kNow, kit_.lists);
  journal->StageDraw(1, parameters_, 3, MakeReport(parameters_, "abc", 5));
  EXPECT_FALSE(journal->FindDraw(1, parameters_, 3).has_value());
  journal->DiscardStaged();
  EXPECT_TRUE(journal->Commit().ok());
  EXPECT_EQ(journal->draws(), 0u);
  Fill(*journal);
  EXPECT_EQ(journal->draws(), 2u);
}

TEST_F(JournalTest, TheClockNeverRunsBack) {
  {
    const auto journal = Open();
    journal->StageClock(kNow + absl::Hours(5));
    ASSERT_TRUE(journal->Commit().ok());
  }
  EXPECT_EQ(Open()->MonotoneNow(kNow), kNow + absl::Hours(5));
  EXPECT_EQ(Open()->MonotoneNow(kNow + absl::Hours(6)), kNow + absl::Hours(6));
}

TEST_F(JournalTest, CreateRefusesToReplaceAJournal) {
  const std::string before = ReadText(path());
  const absl::Status status = CreateJournal(folder_.path(), identity_);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadText(path()), before);
}

TEST_F(JournalTest, RefusesAMissingJournalAndMakesNone) {
  TempFolder empty;
  const absl::Status status = Journal::Open(empty.path(), identity_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("blink-node init"));
  EXPECT_TRUE(std::filesystem::is_empty(empty.path()));
}

TEST_F(JournalTest, RefusesAFifoInItsPlaceAndDoesNotWaitForIt) {
  TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "journal.blj").c_str(), 0600), 0);
  for (const absl::Status& status :
       {Journal::Open(folder.path(), identity_).status(), Journal::OpenReadOnly(folder.path(), identity_).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("not a regular file"));
  }
}

TEST_F(JournalTest, RefusesTheJournalOfAnotherDeploymentRangeOrRosterSize) {
  JournalIdentity other = identity_;
  other.deployment = "other";
  EXPECT_EQ(Journal::Open(folder_.path(), other).status().code(), absl::StatusCode::kFailedPrecondition);
  other = identity_;
  other.first_node = 2;
  EXPECT_EQ(Journal::Open(folder_.path(), other).status().code(), absl::StatusCode::kFailedPrecondition);
  other = identity_;
  other.node_count = 35;
  EXPECT_EQ(Journal::Open(folder_.path(), other).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(JournalTest, RefusesASecondProcess) {
  const auto journal = Open();
  EXPECT_EQ(Journal::Open(folder_.path(), identity_).status().code(), absl::StatusCode::kAborted);
  const auto reader = Journal::OpenReadOnly(folder_.path(), identity_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  (*reader)->StageClock(kNow);
  EXPECT_FALSE((*reader)->Commit().ok());
}

TEST_F(JournalTest, EveryTruncationIsCutBackToWholeRecordsOrRefused) {
  Fill(*Open());
  const std::string whole = ReadText(path());
  uint64_t draws_before = 0;
  size_t openings = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    WriteText(path(), whole.substr(0, size));
    const auto journal = Journal::Open(folder_.path(), identity_);
    if (!journal.ok()) {
      EXPECT_EQ(journal.status().code(), absl::StatusCode::kDataLoss) << size;
      EXPECT_EQ(openings, 0u) << "only a journal without its first record is refused; at " << size;
      EXPECT_EQ(ReadText(path()).size(), size) << "a refusal changes nothing";
      continue;
    }
    ++openings;
    EXPECT_GE((*journal)->draws(), draws_before);
    draws_before = (*journal)->draws();
    EXPECT_LE(ReadText(path()).size(), size);
    // What is left is sound, and can be appended to.
    if (size % 7 != 0) continue;
    (*journal)->StageClock(kNow);
    ASSERT_TRUE((*journal)->Commit().ok());
    ASSERT_TRUE(Journal::OpenReadOnly(folder_.path(), identity_).ok());
  }
  EXPECT_EQ(draws_before, 2u);
}

TEST_F(JournalTest, AFlippedBitInAnyByteIsRefused) {
  Fill(*Open());
  const std::string whole = ReadText(path());
  for (size_t bit = 0; bit < whole.size() * 8; bit += 7) {  // one or two in every byte, each bit of a byte in turn
    std::string damaged = whole;
    damaged[bit / 8] ^= 1 << (bit % 8);
    WriteText(path(), damaged);
    const auto journal = Journal::Open(folder_.path(), identity_);
    // A digit for a digit in the magic makes it a journal of another format.
    if (!absl::IsFailedPrecondition(journal.status()) || bit / 8 != 6) {
      ASSERT_EQ(journal.status().code(), absl::StatusCode::kDataLoss) << "bit " << bit;
    }
    ASSERT_EQ(ReadText(path()), damaged);
  }
}

TEST_F(JournalTest, AJournalOfAnotherFormatIsRefusedByItsNumber) {
  Fill(*Open());
  std::string other = ReadText(path());
  for (const char* magic : {"BLINKJ1\n", "BLINKJ3\n", "BLINKJ17"}) {
    other.replace(0, journal_format::kMagicBytes, magic);
    WriteText(path(), other);
    const absl::Status status = Journal::Open(folder_.path(), identity_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("has format ", absl::string_view(magic).substr(6, magic[7] == '\n' ? 1 : 2),
                                       ", and this program reads format 2")));
    EXPECT_EQ(ReadText(path()), other);
  }
  other.replace(0, journal_format::kMagicBytes, "BLINKJ02");  // the same number, spelt as no program writes it
  WriteText(path(), other);
  EXPECT_EQ(Journal::Open(folder_.path(), identity_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(JournalTest, ARecordRemovedFromTheMiddleIsRefused) {
  Fill(*Open());
  const std::string whole = ReadText(path());
  for (size_t begin = 60; begin + 40 < whole.size(); ++begin) {
    WriteText(path(), whole.substr(0, begin) + whole.substr(begin + 30));
    const auto journal = Journal::OpenReadOnly(folder_.path(), identity_);
    ASSERT_FALSE(journal.ok() && (*journal)->receipts() > 0) << begin;
  }
}

// A journal whose records have the right checksums, whatever they say.
std::string Framed(const std::vector<std::string>& payloads) {
  std::string file(journal_format::kMagic, journal_format::kMagicBytes);
  Digest chain = journal_format::ChainStart();
  for (const std::string& payload : payloads) journal_format::AppendRecord(payload, &chain, &file);
  return file;
}
std::string InitPayload(const JournalIdentity& identity) {
  std::string payload;
  journal_format::Put<uint8_t>(&payload, journal_format::kInit);
  journal_format::PutText(&payload, identity.deployment);
  for (const uint32_t field : {identity.first_node, identity.last_node, identity.node_count}) {
    journal_format::Put<uint32_t>(&payload, field);
  }
  journal_format::Put<uint64_t>(&payload, identity.roster_version);
  return payload + std::string(17, '\0');  // its random identity, and no anchor
}

TEST_F(JournalTest, RefusesARecordWithParametersThatNoRoundHasAsDamage) {
  for (const uint8_t type : {journal_format::kDraw, journal_format::kRound}) {
    std::string payload;
    journal_format::Put<uint8_t>(&payload, type);
    if (type == journal_format::kRound) journal_format::PutText(&payload, kRoundA);
    journal_format::Put<uint32_t>(&payload, 1);                                     // epoch
    if (type == journal_format::kDraw) journal_format::Put<uint32_t>(&payload, 3);  // node
    journal_format::Put<uint64_t>(&payload, 50'000'001);                            // epsilon, above every round's
    journal_format::Put<uint32_t>(&payload, 0);
    journal_format::Put<uint32_t>(&payload, identity_.node_count);
    journal_format::Put<uint32_t>(&payload, static_cast<uint32_t>(Mechanism::kBothEnds));
    WriteText(path(), Framed({InitPayload(identity_), payload}));
    const auto journal = Journal::Open(folder_.path(), identity_);
    EXPECT_EQ(journal.status().code(), absl::StatusCode::kDataLoss) << journal.status();
    EXPECT_THAT(std::string(journal.status().message()), HasSubstr("journal.blj is damaged at byte"));
  }
}

TEST_F(JournalTest, RefusesARangeBeyondEveryRosterBeforeItAllocatesForIt) {
  JournalIdentity huge = identity_;
  huge.first_node = 0;
  huge.last_node = 0xFFFFFFFE;
  huge.node_count = 0xFFFFFFFF;
  WriteText(path(), Framed({InitPayload(huge)}));
  const auto journal = Journal::Open(folder_.path(), identity_);
  EXPECT_EQ(journal.status().code(), absl::StatusCode::kDataLoss) << journal.status();
}

TEST_F(JournalTest, AnEndOfZerosIsATornRecord) {
  Fill(*Open());
  const std::string whole = ReadText(path());
  WriteText(path(), whole + std::string(4096, '\0'));
  EXPECT_EQ(Open()->draws(), 2u);
  EXPECT_EQ(ReadText(path()), whole);
  WriteText(path(), whole + std::string(4096, '\0') + "x");
  EXPECT_EQ(Journal::Open(folder_.path(), identity_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(JournalTest, AFullDiskLeavesTheJournalAsItWas) {
  const auto journal = Open();
  Fill(*journal);
  const std::string before = ReadText(path());
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{before.size() + 20, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  journal->StageDraw(1, *PrivacyParameters::Create(3'000'000, 0, 34), 3,
                     MakeReport(parameters_, std::string(100, 'x'), 1));
  const absl::Status status = journal->Commit();
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(ReadText(path()), before);
  EXPECT_EQ(journal->draws(), 2u);
  // And it goes on when there is room again.
  journal->StageClock(kNow + absl::Hours(1));
  EXPECT_TRUE(journal->Commit().ok());
}

TEST_F(JournalTest, RefusesASecondDrawForOneEpochAndParameters) {
  const auto journal = Open();
  Fill(*journal);
  journal->StageDraw(1, parameters_, 3, MakeReport(parameters_, "other", 5));
  EXPECT_EQ(journal->Commit().code(), absl::StatusCode::kDataLoss);
}

TEST_F(JournalTest, KeepsDrawsOfTwoMechanismsApart) {
  const auto one_end = *PrivacyParameters::Create(2'000'000, 100'000, 34, Mechanism::kOneEnd);
  {
    const auto journal = Open();
    Fill(*journal);
    EXPECT_EQ(journal->SpentMicroMaxWithoutDraw(1, one_end), 2'000'000u) << "it is another draw";
    EXPECT_EQ(journal->OtherParametersOfEpoch(1, one_end), 1u);
    for (const NodeIndex node : {3, 4}) journal->StageDraw(1, one_end, node, MakeReport(one_end, "xyz", 1));
    journal->StageRound(kRoundB, 1, one_end);
    ASSERT_TRUE(journal->Commit().ok());
  }
  const auto journal = Open();
  EXPECT_EQ(journal->SpentMicro(3), 4'000'000u);
  EXPECT_EQ(journal->RoundBinding(kRoundB)->parameters, one_end);
  EXPECT_EQ(journal->LoadReport(1, one_end, 3)->coded_bits, "xyz");
  EXPECT_EQ(journal->LoadReport(1, parameters_, 3)->coded_bits, "abc");
  EXPECT_FALSE(journal->AnsweredRounds()[1].again);
}

TEST_F(JournalTest, KeepsAnswersAboutOtherGroupsApartAndDebitsEach) {
  Digest digest{};
  const auto first = *PrivacyParameters::CreateForGroups(2'000'000, 34, {2, digest});
  digest[0] = 1;
  const auto second = *PrivacyParameters::CreateForGroups(2'000'000, 34, {2, digest});
  {
    const auto journal = Open();
    journal->StageEpoch(1, kNow, MakeKit(3, 4).lists);
    for (const NodeIndex node : {3, 4}) journal->StageDraw(1, first, node, MakeReport(first, "xyz", std::nullopt));
    journal->StageRound(kRoundA, 1, first);
    ASSERT_TRUE(journal->Commit().ok());
    EXPECT_EQ(journal->SpentMicroMaxWithoutDraw(1, first), std::nullopt) << "the same question costs nothing";
    EXPECT_EQ(journal->SpentMicroMaxWithoutDraw(1, second), 2'000'000u) << "another one is another draw";
    for (const NodeIndex node : {3, 4}) journal->StageDraw(1, second, node, MakeReport(second, "uvw", std::nullopt));
    journal->StageRound(kRoundB, 1, second);
    ASSERT_TRUE(journal->Commit().ok());
  }
  const auto journal = Open();
  EXPECT_EQ(journal->SpentMicro(3), 4'000'000u);
  EXPECT_EQ(journal->RoundBinding(kRoundB)->parameters, second);
  EXPECT_EQ(journal->LoadReport(1, first, 3)->coded_bits, "xyz");
  EXPECT_EQ(journal->LoadReport(1, second, 3)->coded_bits, "uvw");
  EXPECT_FALSE(journal->AnsweredRounds()[1].again);
}

TEST_F(JournalTest, RefusesADrawOfAMechanismThatItDoesNotKnow) {
  std::string payload;
  journal_format::Put<uint8_t>(&payload, journal_format::kDraw);
  journal_format::Put<uint32_t>(&payload, 1);  // epoch
  journal_format::Put<uint32_t>(&payload, 3);  // node
  journal_format::Put<uint64_t>(&payload, 2'000'000);
  journal_format::Put<uint32_t>(&payload, 0);
  journal_format::Put<uint32_t>(&payload, identity_.node_count);
  journal_format::Put<uint32_t>(&payload, 4);
  WriteText(path(), Framed({InitPayload(identity_), payload}));
  const auto journal = Journal::Open(folder_.path(), identity_);
  EXPECT_EQ(journal.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(journal.status().message()), HasSubstr("a draw of a mechanism that this program does not"));
}

TEST_F(JournalTest, RefusesADrawWhoseDegreeIsNeitherThereNorAbsent) {
  std::string epoch;
  journal_format::Put<uint8_t>(&epoch, journal_format::kEpoch);
  journal_format::Put<uint32_t>(&epoch, 1);
  journal_format::Put<int64_t>(&epoch, absl::ToUnixMillis(kNow));
  epoch += std::string(4 * identity_.hosted(), '\0');  // empty lists
  const auto open = [&](uint8_t presence) {
    std::string draw;
    journal_format::Put<uint8_t>(&draw, journal_format::kDraw);
    journal_format::Put<uint32_t>(&draw, 1);  // epoch
    journal_format::Put<uint32_t>(&draw, 3);  // node
    journal_format::PutParameters(&draw, parameters_);
    journal_format::Put<uint8_t>(&draw, presence);
    journal_format::Put<int64_t>(&draw, 5);
    draw += std::string(32, 'd');
    journal_format::PutText(&draw, "bits");
    WriteText(path(), Framed({InitPayload(identity_), epoch, draw}));
    return Journal::Open(folder_.path(), identity_).status();
  };
  EXPECT_TRUE(open(0).ok() && open(1).ok());
  for (const uint8_t presence : {2, 255}) {
    const absl::Status refused = open(presence);
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("a draw's record makes no sense"));
  }
}

TEST_F(JournalTest, CountsEveryDrawOfANode) {
  const auto journal = Open();
  Fill(*journal);
  const auto other = *PrivacyParameters::Create(3'000'000, 100'000, 34);
  EXPECT_EQ(journal->SpentMicroMaxWithoutDraw(1, other), 2'000'000u);
  EXPECT_EQ(journal->SpentMicroMaxWithoutDraw(1, parameters_), std::nullopt);
  journal->StageDraw(1, other, 3, MakeReport(other, "z", 0));
  journal->StageEpoch(2, kNow + absl::Hours(30), MakeKit(3, 4, 3).lists);
  journal->StageDraw(2, parameters_, 3, MakeReport(parameters_, "y", 0));
  ASSERT_TRUE(journal->Commit().ok());
  EXPECT_EQ(journal->SpentMicro(3), 7'000'000u);
  EXPECT_EQ(journal->SpentMicro(4), 2'000'000u);
  EXPECT_EQ(journal->SpentMicroMaxWithoutDraw(2, parameters_), 2'000'000u);
  EXPECT_EQ(journal->snapshot(), MakeKit(3, 4, 3).lists);
}

TEST_F(JournalTest, IsLockedUnderEveryNameThatItHas) {
  TempFolder other;
  std::filesystem::create_symlink(path(), other / "journal.blj");
  TempFolder third;
  std::filesystem::create_hard_link(path(), third / "journal.blj");
  const auto journal = Open();
  for (const TempFolder* folder : {&other, &third}) {
    EXPECT_EQ(Journal::Open(folder->path(), identity_).status().code(), absl::StatusCode::kAborted);
  }
  // Somebody takes the lock file for a leftover.
  std::filesystem::remove(folder_ / "journal.lock");
  EXPECT_EQ(Journal::Open(folder_.path(), identity_).status().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(Journal::OpenReadOnly(other.path(), identity_).ok());
}

TEST_F(JournalTest, CreateRefusesALinkWhoseVolumeIsNotMounted) {
  TempFolder folder;
  std::filesystem::create_symlink(folder / "not-mounted/journal.blj", folder / "journal.blj");
  EXPECT_EQ(Journal::Open(folder.path(), identity_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CreateJournal(folder.path(), identity_).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "journal.blj"));
}

TEST_F(JournalTest, WhatTheDiskLostIsNotFoundByTheNextProcess) {
  {
    const auto journal = Open();
    Fill(*journal);
    const std::string before = ReadText(path());
    const auto other = *PrivacyParameters::Create(3'000'000, 100'000, 34);
    journal->StageDraw(1, other, 3, MakeReport(other, "z", 0));
    disk_is_broken = true;
    EXPECT_FALSE(journal->Commit().ok());
    disk_is_broken = false;
    // The system's memory has the draw, the disk perhaps not: sent by the next process, it could be drawn again after a
    // power cut.
    EXPECT_EQ(ReadText(path()), before);
    journal->StageClock(kNow);
    EXPECT_EQ(journal->Commit().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(Open()->draws(), 2u);
}

TEST_F(JournalTest, ARoundWritesNoMoreBytesThanTheLimitOfAnEpochCountsForIt) {
  const auto journal = Open();
  Fill(*journal);
  const uint64_t before = ReadText(path()).size();
  const std::string round_id(32, 'f');
  journal->StageClock(kNow);
  journal->StageRound(round_id, 1, parameters_);
  for (const NodeIndex node : {3, 4})
    journal->StageReceipt(round_id, node, *journal->FindDraw(1, parameters_, node), 7);
  journal->StageRoundOver(round_id);
  ASSERT_TRUE(journal->Commit().ok());
  EXPECT_LE(ReadText(path()).size() - before, 128u * (identity_.hosted() + 2));
}

}  // namespace
}  // namespace blink
