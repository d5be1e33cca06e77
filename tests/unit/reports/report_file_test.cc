#include "aggregator_server/reports/report_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/reports/sealed_pieces.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/privacy/own_pairs.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr size_t kFooterBytes = 8 + 8 + 32;
constexpr uint32_t kNodes = 130;  // three words a row, the last one partly used

PrivacyParameters Parameters(uint32_t degree_share_ppm = 100'000, Mechanism mechanism = Mechanism::kBothEnds) {
  return PrivacyParameters::Create(2'000'000, degree_share_ppm, kNodes, mechanism).value();
}

// A report made without noise: its content is only there to be stored and found again.
PrivateReport SomeReport(const PrivacyParameters& parameters, NodeIndex self) {
  PrivateReport report;
  if (parameters.sends_bits()) {
    report.bits = BitRow(parameters.row_bits(self));
    for (uint32_t j = 0; j < report.bits.size(); j += 1 + self % 7) {
      if (j != self || parameters.mechanism() == Mechanism::kOneEnd) report.bits.Set(j);
    }
  }
  if (parameters.sends_degree()) report.noisy_degree = static_cast<int64_t>(self) - 40;
  return report;
}

class ReportFileTest : public ::testing::Test {
 protected:
  ReportFileTest() {
    folder_ = absl::StrCat(::testing::TempDir(), "/report_file_", ::getpid(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ReportFileTest() override { std::filesystem::remove_all(folder_); }

  void Write(const PrivacyParameters& parameters, const std::vector<NodeIndex>& nodes) {
    v1::Round round;
    round.set_round_id(std::string(32, 'a'));
    *round.mutable_parameters() = ParametersToProto(parameters);
    round.set_reports(static_cast<uint32_t>(nodes.size()));
    ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
    auto writer = ReportFileWriter::Create(Path());
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const NodeIndex node : nodes) {
      ASSERT_TRUE((*writer)->Add(node, EncodeReport(parameters, SomeReport(parameters, node))).ok());
    }
    ASSERT_TRUE((*writer)->Finish().ok());
  }
  // A file of these bytes and their digest.
  void WriteWithDigest(const std::string& bytes) {
    Sha256 hash;
    hash.Update(bytes);
    ASSERT_TRUE(WriteFileAtomically(Path(), bytes + DigestToBytes(hash.Finish())).ok());
  }
  std::string Path() const { return folder_ + "/reports.blr"; }
  std::string Bytes() const { return ReadFile(Path(), 1 << 24).value(); }

  std::string folder_;
};

TEST_F(ReportFileTest, ReturnsEveryReportThatWasWritten) {
  for (const uint32_t share : {0u, 100'000u, 1'000'000u}) {
    const PrivacyParameters parameters = Parameters(share);
    Write(parameters, {0, 3, 64, 129});
    const auto read = ReadRoundFolder(folder_);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->reports.report_count(), 4u);
    EXPECT_EQ(read->round.round_id(), std::string(32, 'a'));
    for (const NodeIndex node : {0u, 3u, 64u, 129u}) {
      const PrivateReport expected = SomeReport(parameters, node);
      EXPECT_TRUE(read->reports.reported(node));
      EXPECT_EQ(read->reports.noisy_degree(node), expected.noisy_degree);
      EXPECT_EQ(read->reports.row(node), expected.bits.words());
    }
    EXPECT_FALSE(read->reports.reported(1));
  }
}

TEST_F(ReportFileTest, ReturnsEveryReportOfOneEnd) {
  const PrivacyParameters parameters = Parameters(100'000, Mechanism::kOneEnd);
  Write(parameters, {0, 3, 64, 129});
  const auto read = ReadRoundFolder(folder_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->reports.parameters(), parameters);
  EXPECT_FALSE(read->reports.mirrored()) << "as they were received";
  for (const NodeIndex node : {0u, 3u, 64u, 129u}) {
    const PrivateReport expected = SomeReport(parameters, node);
    for (NodeIndex j = 0; j < kNodes; ++j) {
      const bool one = j != node && OwnsPair(node, j) && expected.bits.Test(OwnPairPlace(node, j));
      ASSERT_EQ((read->reports.row(node)[j / 64] >> (j % 64)) & 1, one) << node << " about " << j;
    }
  }
  Write(Parameters(), {3});  // reports of the one mechanism beside a description of the other
  v1::Round round = read->round;
  round.set_reports(1);
  ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
  EXPECT_EQ(ReadRoundFolder(folder_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReportFileTest, TheRoundFileNamesNoOperator) {
  v1::Round round;
  round.set_round_id(std::string(32, 'a'));
  round.add_history()->set_by("operator/ann");
  ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
  EXPECT_THAT(ReadFile(folder_ + "/round.json", 1 << 20).value(), Not(HasSubstr("ann")));
}

TEST_F(ReportFileTest, AnEmptyRoundIsAFileToo) {
  Write(Parameters(), {});
  const auto read = ReadRoundFolder(folder_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->reports.report_count(), 0u);
}

TEST_F(ReportFileTest, RefusesAFileThatWasCutAtAnyByte) {
  Write(Parameters(), {0, 3});
  const std::string whole = Bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(WriteFileAtomically(Path(), whole.substr(0, size)).ok());
    const auto read = ReadRoundFolder(folder_);
    ASSERT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << "cut to " << size << ": " << read.status();
    ASSERT_THAT(std::string(read.status().message()), HasSubstr("reports.blr"));
  }
}

TEST_F(ReportFileTest, RefusesAFileWithAnyBitFlipped) {
  Write(Parameters(), {0, 3});
  const std::string whole = Bytes();
  for (size_t bit = 0; bit < whole.size() * 8; bit += 3) {
    std::string damaged = whole;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    ASSERT_TRUE(WriteFileAtomically(Path(), damaged).ok());
    const absl::Status status = ReadRoundFolder(folder_).status();
    // A digit for a digit in the magic makes it a file of another format.
    if (absl::IsFailedPrecondition(status) && (bit / 8 == 6 || bit / 8 == 7)) continue;
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << "bit " << bit;
  }
}

TEST_F(ReportFileTest, RefusesAFileOfAnotherFormatByItsNumber) {
  Write(Parameters(), {0, 3});
  std::string other = Bytes();
  other.replace(0, 8, "BLINKR03");
  ASSERT_TRUE(WriteFileAtomically(Path(), other).ok());
  const absl::Status status = ReadRoundFolder(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("reports.blr has format 3, and this program reads format 2"));
  EXPECT_EQ(Bytes(), other);
  other.replace(0, 8, "BLINKR1\n");  // the number that is read, spelt as no program writes it
  ASSERT_TRUE(WriteFileAtomically(Path(), other).ok());
  EXPECT_EQ(ReadRoundFolder(folder_).status().code(), absl::StatusCode::kDataLoss);
}

// Two files of one report each, put together, with the digest of the whole: only the order is wrong.
TEST_F(ReportFileTest, RefusesNodesThatDoNotAscend) {
  const auto record_of = [&](NodeIndex node) {
    Write(Parameters(), {node});
    const std::string bytes = Bytes();
    return bytes.substr(8, bytes.size() - 8 - kFooterBytes);
  };
  for (const auto& [first, second] : {std::pair<NodeIndex, NodeIndex>{64, 3}, {3, 3}}) {
    const std::string before = record_of(first), after = record_of(second);
    Write(Parameters(), {0, 3});
    const std::string footer = Bytes().substr(Bytes().size() - kFooterBytes, 16);
    WriteWithDigest("BLINKR01" + before + after + footer);
    const absl::Status refused = ReadRoundFolder(folder_).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("reports.blr is damaged: byte "), HasSubstr(absl::StrCat(8 + before.size(), ": node ")),
                      HasSubstr(absl::StrCat("node ", second, " follows node ", first, ", and nodes must ascend"))));
  }
  const std::string before = record_of(3), after = record_of(64);  // and nothing else is
  Write(Parameters(), {0, 3});
  WriteWithDigest("BLINKR01" + before + after + Bytes().substr(Bytes().size() - kFooterBytes, 16));
  EXPECT_TRUE(ReadRoundFolder(folder_).ok());
}

TEST_F(ReportFileTest, RefusesAPresenceThatIsNeitherZeroNorOne) {
  Write(Parameters(), {7});
  const std::string good = Bytes();
  for (const char presence : {'\2', '\xff'}) {
    std::string other = good.substr(0, good.size() - 32);
    other[16] = presence;
    WriteWithDigest(other);
    const absl::Status refused = ReadRoundFolder(folder_).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("reports.blr is damaged: byte 16, of node 7: the presence of the degree is "),
                      HasSubstr("and must be 0 or 1")));
  }
}

TEST_F(ReportFileTest, RefusesADegreeThatIsNotPresent) {
  Write(Parameters(0), {7});
  std::string other = Bytes().substr(0, Bytes().size() - 32);
  ASSERT_EQ(other[16], '\0');
  other[17] = 1;
  WriteWithDigest(other);
  const absl::Status refused = ReadRoundFolder(folder_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("byte 17, of node 7: there is no degree, so it must be 0"));
}

TEST_F(ReportFileTest, RefusesBytesBehindTheEnd) {
  Write(Parameters(), {0});
  ASSERT_TRUE(WriteFileAtomically(Path(), Bytes() + "x").ok());
  EXPECT_THAT(std::string(ReadRoundFolder(folder_).status().message()), HasSubstr("bytes follow its end"));
}

// n^2 / 8 bytes would be 12.5 TB, which no machine has.
TEST_F(ReportFileTest, RefusesARoundThatClaimsMoreNodesThanTheReportsHaveWithoutTakingTheMemory) {
  Write(Parameters(), {0, 3});
  v1::Round round;
  round.set_round_id(std::string(32, 'a'));
  *round.mutable_parameters() = ParametersToProto(PrivacyParameters::Create(2'000'000, 100'000, kNodesMax).value());
  ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
  const absl::Status refused = ReadRoundFolder(folder_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("reports.blr"), HasSubstr("round.json (n = 10000000)")));
}

TEST_F(ReportFileTest, RefusesARoundOfAnotherNumberOfReportsOrWithoutAnId) {
  Write(Parameters(), {0, 3});
  v1::Round round = ReadRoundFolder(folder_).value().round;
  round.set_reports(3);
  ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
  absl::Status refused = ReadRoundFolder(folder_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("holds 2 reports"), HasSubstr("counts 3")));
  round.set_reports(2);
  for (const char* id : {"", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "../../../../../../../../../etc/x"}) {
    round.set_round_id(id);
    ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
    refused = ReadRoundFolder(folder_).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << id;
    EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("round.json"), HasSubstr("round_id"))) << id;
  }
}

TEST_F(ReportFileTest, RefusesARoundOfMoreActiveNodesThanItHas) {
  Write(Parameters(), {0, 3});
  v1::Round round = ReadRoundFolder(folder_).value().round;
  round.set_active_nodes(kNodes + 1);
  ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
  const absl::Status refused = ReadRoundFolder(folder_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("counts 131 active nodes of 130"));
}

// Of a FIFO the open would wait for ever, and a device has no end.
TEST_F(ReportFileTest, RefusesWhatIsNoRegularFileAtOnce) {
  Write(Parameters(), {0, 3});
  for (const char* name : {"reports.blr", "round.json"}) {
    const std::string path = absl::StrCat(folder_, "/", name), kept = path + ".kept";
    std::filesystem::rename(path, kept);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(std::string(ReadRoundFolder(folder_).status().message()), HasSubstr("not a regular file"));
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/dev/zero", path);
    EXPECT_THAT(std::string(ReadRoundFolder(folder_).status().message()), HasSubstr("not a regular file"));
    std::filesystem::remove(path);
    std::filesystem::create_symlink(kept, path);
    EXPECT_TRUE(ReadRoundFolder(folder_).ok());
  }
}

TEST_F(ReportFileTest, RefusesAnswersAboutGroupsOfWhichNoLinksAreMade) {
  Write(Parameters(), {1, 2});
  v1::Round round = *ReadRound(folder_);
  *round.mutable_parameters() =
      ParametersToProto(*PrivacyParameters::CreateForGroups(2'000'000, kNodes, {.count = 3, .map_sha256 = {}}));
  ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
  const absl::Status refused = ReadRoundFolder(folder_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("answers about groups of nodes (mechanism group-degrees)"));
}

class GroupAnswersTest : public ReportFileTest {
 protected:
  GroupAnswersTest() {
    for (uint32_t i = 0; i < kNodes; ++i) groups_.group_of.push_back(i % 3);
  }
  void WriteAnswers() {
    v1::Round round;
    round.set_round_id(std::string(32, 'a'));
    *round.mutable_parameters() = ParametersToProto(about_groups());
    round.set_reports(2);
    ASSERT_TRUE(WriteRoundJson(round, folder_).ok());
    ASSERT_TRUE(WriteGroups(EncodeGroups(groups_), folder_).ok());
    auto writer = ReportFileWriter::Create(Path());
    ASSERT_TRUE(writer.ok()) << writer.status();
    PrivateReport report;
    report.group_degrees = {4, -1, 300};
    ASSERT_TRUE((*writer)->Add(5, EncodeReport(about_groups(), report)).ok());
    report.group_degrees = {0, 0, 7};
    ASSERT_TRUE((*writer)->Add(129, EncodeReport(about_groups(), report)).ok());
    ASSERT_TRUE((*writer)->Finish().ok());
  }
  PrivacyParameters about_groups() const {
    return *PrivacyParameters::CreateForGroups(2'000'000, kNodes, QuestionAbout(groups_));
  }

  NodeGroups groups_{.count = 3};
};

TEST_F(GroupAnswersTest, ReturnsEveryNumberThatWasWritten) {
  WriteAnswers();
  const auto answers = ReadGroupAnswers(folder_);
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_EQ(answers->parameters, about_groups());
  EXPECT_EQ(answers->asked.group_of, groups_.group_of);
  EXPECT_EQ(answers->reports, 2u);
  EXPECT_TRUE(answers->reported.Test(5) && answers->reported.Test(129) && !answers->reported.Test(6));
  ASSERT_EQ(answers->degrees.size(), 3u * kNodes);
  EXPECT_EQ(answers->degrees[15], 4.0f);
  EXPECT_EQ(answers->degrees[16], -1.0f);
  EXPECT_EQ(answers->degrees[17], 300.0f);
  EXPECT_EQ(answers->degrees[3 * 129 + 2], 7.0f);
  EXPECT_EQ(answers->degrees[18], 0.0f);
  EXPECT_EQ(answers->coded_bytes_mean, 3.5);
}

TEST_F(GroupAnswersTest, RefusesOtherGroupsThanThoseOfTheRound) {
  WriteAnswers();
  NodeGroups moved = groups_;
  moved.group_of[0] = 2;
  ASSERT_TRUE(WriteGroups(EncodeGroups(moved), folder_).ok());
  EXPECT_EQ(ReadGroupAnswers(folder_).status().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(WriteGroups(EncodeGroups(groups_).substr(2), folder_).ok());
  EXPECT_THAT(std::string(ReadGroupAnswers(folder_).status().message()), HasSubstr("does not hold the groups of"));
}

TEST_F(GroupAnswersTest, RefusesReportsOfAnotherMechanism) {
  Write(Parameters(), {1, 2});
  EXPECT_EQ(ReadGroupAnswers(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ReportFileTest, RefusesAMissingFileByName) {
  const auto read = ReadRoundFolder(folder_);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("round.json"));
}

TEST_F(ReportFileTest, RefusesReportsOutOfOrder) {
  const PrivacyParameters parameters = Parameters();
  auto writer = ReportFileWriter::Create(Path()).value();
  ASSERT_TRUE(writer->Add(5, EncodeReport(parameters, SomeReport(parameters, 5))).ok());
  EXPECT_EQ(writer->Add(5, EncodeReport(parameters, SomeReport(parameters, 5))).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ReportFileTest, LeavesNoFileWhenItWasNotFinished) {
  { auto writer = ReportFileWriter::Create(Path()).value(); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST(ReportSet, HasRowsOfZerosBeforeTheFirstReportAndWhenAllAreDropped) {
  const PrivacyParameters parameters = Parameters();
  ReportSet set(parameters);
  const auto expect_zeros = [&] {
    for (NodeIndex node = 0; node < kNodes; ++node) {
      ASSERT_EQ(set.row(node).size(), 3u);
      ASSERT_THAT(set.row(node), Each(0u));
    }
  };
  expect_zeros();
  set.Drop(7);
  ASSERT_TRUE(set.Add(1, SomeReport(parameters, 1)).ok());
  EXPECT_EQ(set.row(1), SomeReport(parameters, 1).bits.words());
  EXPECT_THAT(set.row(0), Each(0u));
  set.Drop(1);
  expect_zeros();
}

TEST(ReportSet, RefusesASecondReportOfANodeAndPartsThatDoNotBelong) {
  const PrivacyParameters parameters = Parameters();
  ReportSet set(parameters);
  ASSERT_TRUE(set.Add(1, SomeReport(parameters, 1)).ok());
  EXPECT_FALSE(set.Add(1, SomeReport(parameters, 1)).ok());
  EXPECT_FALSE(set.Add(kNodes, SomeReport(parameters, 2)).ok());
  PrivateReport without_degree = SomeReport(parameters, 2);
  without_degree.noisy_degree.reset();
  EXPECT_FALSE(set.Add(2, without_degree).ok());
  PrivateReport without_bits = SomeReport(parameters, 2);
  without_bits.bits = BitRow();
  EXPECT_FALSE(set.Add(2, without_bits).ok());
  EXPECT_EQ(set.report_count(), 1u);
}

class EncryptedReportFileTest : public ReportFileTest {
 protected:
  // With reports of many nodes, so that there are several pieces.
  void WriteEncrypted(const std::string& round_id = std::string(32, 'a')) {
    Write(parameters_, nodes_);
    std::filesystem::remove(Path());
    auto writer = ReportFileWriter::CreateEncrypted(Path(), key_, round_id);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const NodeIndex node : nodes_) {
      ASSERT_TRUE((*writer)->Add(node, EncodeReport(parameters_, SomeReport(parameters_, node))).ok());
    }
    ASSERT_TRUE((*writer)->Finish().ok());
  }

  const PrivacyParameters parameters_ = Parameters();
  const std::vector<NodeIndex> nodes_ = {0, 7, 8, 129};
  const SecretKey key_ = SecretKey::FromBytes(std::string(32, 'k')).value();
};

TEST_F(EncryptedReportFileTest, ReturnsWithTheKeyWhatAnUnencryptedOneReturns) {
  Write(parameters_, nodes_);
  const RoundFolder plain = ReadRoundFolder(folder_).value();
  const std::string plain_bytes = Bytes();
  const std::vector<int64_t> degrees = ReadNoisyDegrees(folder_).value();
  WriteEncrypted();
  EXPECT_EQ(Bytes().find(plain_bytes.substr(20, 16)), std::string::npos);
  const auto read = ReadRoundFolder(folder_, {.key = &key_});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->reports.report_count(), plain.reports.report_count());
  EXPECT_EQ(read->ones, plain.ones);
  EXPECT_EQ(ReadNoisyDegrees(folder_, &key_).value(), degrees);
}

TEST_F(EncryptedReportFileTest, IsRefusedWithoutItsKeyAndAnUnencryptedOneWithAKey) {
  WriteEncrypted();
  for (const absl::Status& refused : {ReadRoundFolder(folder_).status(), ReadNoisyDegrees(folder_).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("is encrypted"));
  }
  Write(parameters_, nodes_);
  const absl::Status refused = ReadRoundFolder(folder_, {.key = &key_}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is not encrypted"));
}

TEST_F(EncryptedReportFileTest, IsRefusedWithAnotherKeyOrOfAnotherRound) {
  WriteEncrypted();
  const SecretKey other = SecretKey::FromBytes(std::string(32, 'o')).value();
  EXPECT_EQ(ReadRoundFolder(folder_, {.key = &other}).status().code(), absl::StatusCode::kDataLoss);
  WriteEncrypted(std::string(32, 'b'));
  EXPECT_EQ(ReadRoundFolder(folder_, {.key = &key_}).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(EncryptedReportFileTest, IsRefusedWhenAnyByteIsChangedOrMissing) {
  WriteEncrypted();
  const std::string bytes = Bytes();
  for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 97) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    ASSERT_TRUE(WriteFileAtomically(Path(), changed).ok());
    EXPECT_FALSE(ReadRoundFolder(folder_, {.key = &key_}).ok()) << at;
    ASSERT_TRUE(WriteFileAtomically(Path(), bytes.substr(0, at)).ok());
    EXPECT_EQ(ReadRoundFolder(folder_, {.key = &key_}).status().code(), absl::StatusCode::kDataLoss) << at;
  }
  ASSERT_TRUE(WriteFileAtomically(Path(), bytes + "x").ok());
  EXPECT_EQ(ReadRoundFolder(folder_, {.key = &key_}).status().code(), absl::StatusCode::kDataLoss);
}

TEST(SealedPieces, CannotBeLeftOutMovedOrAdded) {
  const SecretKey key = SecretKey::FromBytes(std::string(32, 'k')).value();
  PieceSealer sealer(key, "round");
  const std::string first = sealer.SealNext("first", false).value(), second = sealer.SealNext("second", false).value();
  const std::string last = sealer.SealNext("last", true).value();
  const auto read = [&](std::string file) -> absl::StatusOr<std::string> {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(::fmemopen(file.data(), file.size(), "rb"),
                                                                 std::fclose);
    PieceReader reader(key, "round");
    std::string all;
    while (!reader.has_ended()) {
      const absl::StatusOr<std::string> piece = reader.ReadNext(opened.get());
      if (!piece.ok()) return piece.status();
      all += *piece;
    }
    return all;
  };
  EXPECT_EQ(read(first + second + last).value(), "firstsecondlast");
  EXPECT_TRUE(absl::IsDataLoss(read(first + last).status()));
  EXPECT_TRUE(absl::IsDataLoss(read(second + first + last).status()));
  EXPECT_TRUE(absl::IsDataLoss(read(first + first + second + last).status()));
  EXPECT_TRUE(absl::IsOutOfRange(read(first + second).status()));
}

}  // namespace
}  // namespace blink
