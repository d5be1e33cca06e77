// Rows as gaps against the places that they were made of.
#include "aggregator_server/reports/gap_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "aggregator_server/reports/report_set.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

using Places = std::vector<std::vector<uint32_t>>;  // of each row

Places RandomPlaces(uint32_t rows, uint32_t columns, double share, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::geometric_distribution<uint64_t> gap(share);
  Places places(rows);
  for (auto& row : places) {
    for (uint64_t place = gap(random); place < columns; place += 1 + gap(random)) {
      row.push_back(static_cast<uint32_t>(place));
    }
  }
  return places;
}

void Fill(const Places& places, GapRows& rows) {
  for (uint32_t i = 0; i < places.size(); ++i) {
    const uint64_t offsets[] = {0, places[i].size()};
    ASSERT_TRUE(rows.Set(i, offsets, places[i]).ok());
  }
}

std::vector<uint32_t> OnesOf(const GapRows& rows, uint32_t row, uint32_t from, uint64_t end) {
  std::vector<uint32_t> ones;
  rows.ForEachOne(row, from, end, [&](uint32_t place) { ones.push_back(place); });
  return ones;
}

// Ones from almost none to all, rows from shorter than a stretch between two skips to many of them.
class GapRowsOf : public ::testing::TestWithParam<double> {};

TEST_P(GapRowsOf, GiveBackThePlacesThatTheyWereMadeOf) {
  for (const uint32_t columns : {1u, 2u, 127u, 128u, 129u, 1'000u, 40'000u}) {
    const Places places = RandomPlaces(5, columns, GetParam(), columns);
    GapRows rows(5, columns, "");
    Fill(places, rows);
    for (uint32_t i = 0; i < 5; ++i) {
      EXPECT_EQ(OnesOf(rows, i, 0, columns), places[i]) << columns << ' ' << i;
      EXPECT_EQ(rows.Count(i), places[i].size());
    }
  }
}

TEST_P(GapRowsOf, GiveEveryStretchAndEveryPlace) {
  constexpr uint32_t kColumns = 3'000;
  const Places places = RandomPlaces(1, kColumns, GetParam(), 3);
  GapRows rows(1, kColumns, "");
  Fill(places, rows);
  const std::vector<uint32_t>& all = places[0];
  for (uint32_t from = 0; from < kColumns; from += 7) {
    for (const uint32_t length : {0u, 1u, 64u, 1'000u}) {
      const auto end = uint64_t{from} + length;
      const auto first = std::lower_bound(all.begin(), all.end(), from);
      const auto last = std::lower_bound(all.begin(), all.end(), end);
      ASSERT_EQ(OnesOf(rows, 0, from, end), std::vector<uint32_t>(first, std::max(first, last))) << from << ' ' << end;
    }
    ASSERT_EQ(rows.Test(0, from), std::binary_search(all.begin(), all.end(), from)) << from;
  }
}

TEST_P(GapRowsOf, TransposeToWhatTheColumnsHold) {
  const Places places = RandomPlaces(700, 1'300, GetParam(), 5);
  GapRows rows(700, 1'300, "");
  Fill(places, rows);
  Places expected(1'300);
  for (uint32_t i = 0; i < places.size(); ++i) {
    for (const uint32_t j : places[i]) expected[j].push_back(i);
  }
  for (const uint64_t memory : {uint64_t{1}, uint64_t{1} << 30}) {  // one stripe for each tile of columns, or for all
    for (const int threads : {1, 3}) {
      const auto columns = Transpose(rows, "", threads, memory, nullptr);
      ASSERT_TRUE(columns.ok()) << columns.status();
      for (uint32_t j = 0; j < 1'300; ++j) ASSERT_EQ(OnesOf(**columns, j, 0, 700), expected[j]) << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shares, GapRowsOf, ::testing::Values(1e-5, 7e-4, 4e-3, 0.05, 0.3, 0.9, 0.9999999));

TEST(GapRows, TakeLittleMoreThanTheEntropyOfTheirBits) {
  for (const double share : {7.5e-4, 4.5e-3, 0.02}) {
    constexpr uint32_t kColumns = 400'000;
    const Places places = RandomPlaces(20, kColumns, share, 1);
    GapRows rows(20, kColumns, "");
    Fill(places, rows);
    double ones = 0;
    for (const auto& row : places) ones += static_cast<double>(row.size());
    const double entropy = (-share * std::log2(share) - (1 - share) * std::log2(1 - share)) / share / 8;  // bytes a one
    const double bytes = static_cast<double>(rows.bytes()) - 20 * 16;
    EXPECT_LT(bytes / ones, 1.1 * entropy) << share;
    EXPECT_GT(bytes / ones, 0.97 * entropy) << share;
    EXPECT_NEAR(GapRows::ExpectedBytes(20, kColumns, share) / static_cast<double>(rows.bytes()), 1, 0.05) << share;
  }
}

TEST(GapRows, HoldARowOfOnesInAboutABitEach) {
  std::vector<uint32_t> all(100'000);
  for (uint32_t j = 0; j < all.size(); ++j) all[j] = j;
  GapRows rows(1, 100'000, "");
  Fill({all}, rows);
  EXPECT_LT(rows.bytes(), 100'000 / 8 * 1.6);
  EXPECT_EQ(OnesOf(rows, 0, 0, 100'000), all);
}

TEST(GapRows, HoldGapsThatAreFarLongerThanTheMean) {
  std::vector<uint32_t> places;
  for (uint32_t j = 0; j < 50'000; ++j) places.push_back(j);
  places.push_back(9'999'999);
  GapRows rows(1, 10'000'000, "");
  Fill({places}, rows);
  EXPECT_EQ(OnesOf(rows, 0, 0, 10'000'000), places);
  EXPECT_EQ(OnesOf(rows, 0, 50'000, 10'000'000), std::vector<uint32_t>{9'999'999});
}

using GapRowsInFile = testing::FolderTest;

// A disk that has so many bytes left.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(GapRowsInFile, AreThoseInMemoryAndLeaveNoFile) {
  const Places places = RandomPlaces(3'000, 20'000, 0.01, 2);
  GapRows rows(3'000, 20'000, folder_);
  Fill(places, rows);
  rows.Rest(0, 3'000);
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "the file has no name";
  const auto columns = Transpose(rows, folder_, 2, 1 << 20, nullptr);
  ASSERT_TRUE(columns.ok()) << columns.status();
  (*columns)->Rest(0, 20'000);
  const auto again = Transpose(**columns, "", 1, 1 << 20, nullptr);
  ASSERT_TRUE(again.ok());
  for (uint32_t i = 0; i < 3'000; ++i) {
    ASSERT_EQ(OnesOf(rows, i, 0, 20'000), places[i]);
    ASSERT_EQ(OnesOf(**again, i, 0, 20'000), places[i]);
  }
}

TEST_F(GapRowsInFile, LetNothingRestThatIsNotTheirs) {
  constexpr size_t kBytes = 1 << 20;
  std::vector<std::vector<uint8_t>> others;
  ScratchBytes bytes(folder_);
  std::vector<uint8_t*> taken;
  for (uint8_t k = 0; k < 8; ++k) {  // between the pieces of the file lies memory of the process
    others.emplace_back(kBytes, uint8_t{7});
    taken.push_back(*bytes.Take(kBytes));
    std::memset(taken.back(), k + 1, kBytes);
  }
  const uint8_t *least = taken[0], *greatest = taken[0];
  for (const auto& other : others) {
    least = std::min(least, other.data());
    greatest = std::max(greatest, other.data() + kBytes);
  }
  for (const uint8_t* piece : taken) {
    least = std::min(least, piece);
    greatest = std::max(greatest, piece + kBytes);
  }
  bytes.Rest(least, greatest);
  for (const auto& other : others) EXPECT_EQ(std::count(other.begin(), other.end(), 7), kBytes);
  for (uint8_t k = 0; k < 8; ++k) EXPECT_EQ(std::count(taken[k], taken[k] + kBytes, k + 1), kBytes);
}

TEST_F(GapRowsInFile, RefuseAFolderThatIsNotThere) {
  GapRows rows(1, 10, folder_ + "/nothing");
  const uint64_t offsets[] = {0, 1};
  const uint32_t places[] = {3};
  const absl::Status refused = rows.Set(0, offsets, places);
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(folder_ + "/nothing"));
}

TEST_F(GapRowsInFile, RefuseADiskThatIsFullAndKeepWhatTheyHave) {
  const Places places = RandomPlaces(400, 100'000, 0.05, 4);  // 2.2 MB
  GapRows rows(400, 100'000, folder_);
  const FileSizeLimit limit(1 << 20);
  uint32_t held = 0;
  absl::Status status;
  for (; held < 400 && status.ok(); ++held) {
    const uint64_t offsets[] = {0, places[held].size()};
    status = rows.Set(held, offsets, places[held]);
  }
  ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_));
  for (uint32_t i = 0; i + 1 < held; ++i) ASSERT_EQ(OnesOf(rows, i, 0, 100'000), places[i]);
}

PrivacyParameters Parameters(uint32_t nodes, double epsilon, Mechanism mechanism = Mechanism::kBothEnds) {
  return *PrivacyParameters::Create(static_cast<uint64_t>(epsilon * 1e6), 100'000, nodes, mechanism);
}

TEST(FittingStorage, IsGapsWhereOnesAreRareAndTheGraphIsLarge) {
  EXPECT_EQ(FittingStorage(Parameters(100'000, 8)), RowStorage::kGaps);
  EXPECT_EQ(FittingStorage(Parameters(100'000, 6)), RowStorage::kGaps);
  EXPECT_EQ(FittingStorage(Parameters(100'000, 4)), RowStorage::kPacked);
  EXPECT_EQ(FittingStorage(Parameters(2'708, 8)), RowStorage::kPacked);
  EXPECT_EQ(FittingStorage(Parameters(100'000, 8, Mechanism::kOneEnd)), RowStorage::kGaps);
  EXPECT_EQ(FittingStorage(*PrivacyParameters::Create(8'000'000, 1'000'000, 100'000)), RowStorage::kPacked);
}

TEST(FittingStorage, KeepsAMillionNodesInATwentiethOfTheirBits) {
  const PrivacyParameters parameters = Parameters(1'000'000, 8);
  EXPECT_LT(ExpectedRowBytes(parameters, RowStorage::kGaps), 2.6e9);
  EXPECT_LT(ExpectedMemoryBytes(parameters, /*on_disk=*/false), 3.2e9);
  EXPECT_LT(ExpectedMemoryBytes(parameters, /*on_disk=*/true), 0.8e9);
  EXPECT_LT(ExpectedRowBytes(Parameters(1'000'000, 6), RowStorage::kGaps), 13e9);
}

TEST_F(GapRowsInFile, AreRefusedBeforehandWhereTheFolderHasNoRoom) {
  EXPECT_TRUE(CheckRoom(Parameters(20'000, 8), {folder_}).ok()) << "these lie in memory";
  const PrivacyParameters large = Parameters(10'000'000, 6);  // 1.2 TB
  const absl::Status refused = CheckRoom(large, {folder_});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(folder_));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("TB of disk"));
  EXPECT_EQ(CheckRoom(large, {folder_ + "/nothing"}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ReportSet, OfGapsTakesNoReportWhileACopySharesItsRows) {
  ReportSet reports(Parameters(100, 8), RowStorage::kGaps);
  ASSERT_TRUE(reports.Add(3, {.bits = BitRow(100), .noisy_degree = 1}).ok());
  const std::optional<ReportSet> copy = reports;
  EXPECT_EQ(reports.Add(4, {.bits = BitRow(100), .noisy_degree = 1}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ReportSet, OfGapsTakesNoReportOnceItIsComplete) {
  ReportSet reports(Parameters(100, 8), RowStorage::kGaps);
  EXPECT_FALSE(reports.is_complete());
  ASSERT_TRUE(reports.Add(3, {.bits = BitRow(100), .noisy_degree = 1}).ok());
  ASSERT_TRUE(reports.Complete().ok());
  EXPECT_TRUE(reports.is_complete());
  EXPECT_EQ(reports.Add(4, {.bits = BitRow(100), .noisy_degree = 1}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reports.Add(3, {.bits = BitRow(100), .noisy_degree = 1}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
