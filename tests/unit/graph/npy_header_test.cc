// The headers of NumPy's arrays and the members of archives: every limit, on both sides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/graph/npy_array.h"
#include "common/graph/numpy_file.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

std::string Header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran, ", 'shape': ", shape, ", }\n");
}

// An array of a format version, whose header says that it has `length` bytes.
std::string Array(int version, const std::string& header, size_t length, const std::string& data) {
  std::string bytes("\x93NUMPY", 6);
  bytes.push_back(static_cast<char>(version));
  bytes.push_back('\0');
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k) bytes.push_back(static_cast<char>(length >> (8 * k) & 255));
  return bytes + header + data;
}
std::string Array(int version, const std::string& header, const std::string& data) {
  return Array(version, header, header.size(), data);
}

std::string ErrorOf(const std::string& bytes) {
  const absl::StatusOr<NpyArray> array = ParseNpy(bytes, "x.npy");
  EXPECT_EQ(array.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(array.status().message());
}

TEST(NpyHeader, OfTheVersionsOneToThreeIsRead) {
  for (const int version : {1, 2, 3}) {
    const std::string bytes = Array(version, Header("<f4", "(2,)"), "12345678");
    const absl::StatusOr<NpyArray> array = ParseNpy(bytes, "x");
    ASSERT_TRUE(array.ok()) << version << ": " << array.status();
    EXPECT_EQ(array->data, "12345678");
    EXPECT_EQ(array->items, 2u);
  }
  EXPECT_THAT(ErrorOf(Array(0, Header("<f4", "(2,)"), "12345678")), HasSubstr("unknown NumPy format version 0"));
  EXPECT_THAT(ErrorOf(Array(4, Header("<f4", "(2,)"), "12345678")), HasSubstr("unknown NumPy format version 4"));
}

TEST(NpyHeader, OfMoreThan65535BytesIsReadWhereTheVersionAllowsIt) {
  const std::string header = Header("<f4", "(1,)") + std::string(70'000, ' ');
  const std::string bytes = Array(2, header, "1234");
  EXPECT_EQ(ParseNpy(bytes, "x")->data, "1234");
}

TEST(NpyHeader, ThatIsCutOffIsRefused) {
  const std::string header = Header("<f4", "(0,)");
  for (const int version : {1, 3}) {
    EXPECT_TRUE(ParseNpy(Array(version, header, header.size(), ""), "x").ok()) << version;
    EXPECT_THAT(ErrorOf(Array(version, header, header.size() + 1, "")), HasSubstr("is cut off in its header"));
  }
  EXPECT_THAT(ErrorOf(Array(3, header, 0xffffffff, "")), HasSubstr("is cut off in its header"));
  EXPECT_THAT(ErrorOf(Array(1, "", "")), HasSubstr("is not a NumPy array"));
}

TEST(NpyHeader, ItemsHaveOneTo4096Bytes) {
  EXPECT_TRUE(ParseNpy(Array(1, Header("|S4096", "(1,)"), std::string(4096, 'x')), "x").ok());
  EXPECT_THAT(ErrorOf(Array(1, Header("|S4097", "(1,)"), std::string(4097, 'x'))),
              HasSubstr("an item is longer than 4096"));
  for (const char* descr : {"|S0", "<f", "<", "f4", "<m8", "<f4x"}) {
    EXPECT_THAT(ErrorOf(Array(1, Header(descr, "(1,)"), std::string(65, 'x'))), HasSubstr("is not one kind of number"))
        << descr;
  }
}

TEST(NpyHeader, AShapeSaysExactlyHowManyBytesFollow) {
  EXPECT_TRUE(ParseNpy(Array(1, Header("<i2", "(3, 2)"), std::string(12, 'x')), "x").ok());
  EXPECT_THAT(ErrorOf(Array(1, Header("<i2", "(3, 2)"), std::string(11, 'x'))),
              HasSubstr("its shape needs 12 bytes, but 11 follow"));
  EXPECT_THAT(ErrorOf(Array(1, Header("<i2", "(3, 2)"), std::string(13, 'x'))),
              HasSubstr("its shape needs 12 bytes, but 13 follow"));
  EXPECT_TRUE(ParseNpy(Array(1, Header("<i2", "(0, 5)"), ""), "x").ok());
}

TEST(NpyHeader, AShapeThatIsTooLargeIsRefusedBeforeItIsMultiplied) {
  const std::string most = absl::StrCat(uint64_t{16} << 30), more = absl::StrCat((uint64_t{16} << 30) + 1);
  EXPECT_THAT(ErrorOf(Array(1, Header("|u1", absl::StrCat("(", most, ",)")), "")), HasSubstr("its shape needs "));
  EXPECT_THAT(ErrorOf(Array(1, Header("|u1", absl::StrCat("(", more, ",)")), "")), HasSubstr("shape is unreadable"));
  EXPECT_THAT(ErrorOf(Array(1, Header("|u1", absl::StrCat("(2, ", most, ")")), "")), HasSubstr("implausibly large"));
  EXPECT_THAT(ErrorOf(Array(1, Header("|u1", absl::StrCat("(", most, ", 2)")), "")), HasSubstr("implausibly large"));
}

TEST(NpyHeader, TheOrderMattersWhereThereAreTwoDimensions) {
  EXPECT_TRUE(ParseNpy(Array(1, Header("|u1", "(1, 2)", "True"), "xx"), "x")->by_columns);
  EXPECT_FALSE(ParseNpy(Array(1, Header("|u1", "(1, 2)"), "xx"), "x")->by_columns);
  EXPECT_FALSE(ParseNpy(Array(1, Header("|u1", "(2,)", "True"), "xx"), "x")->by_columns);
  EXPECT_TRUE(ParseNpy(Array(1, Header(">i2", "(1,)"), "xx"), "x")->big_endian);
  EXPECT_FALSE(ParseNpy(Array(1, Header("<i2", "(1,)"), "xx"), "x")->big_endian);
}

TEST(NpyBytes, BeginTheirDataAtAMultipleOf64) {
  for (const std::vector<uint64_t>& shape :
       std::vector<std::vector<uint64_t>>{{}, {1}, {1, 2}, {123'456'789, 0}, {1'000'000'000, 0}, {10'000'000'000, 0}}) {
    const uint64_t items = shape.empty() || shape.back() == 1 ? 1 : shape.back();
    const std::string bytes = NpyBytes("|u1", shape, "xyz", items);
    EXPECT_EQ((bytes.size() - items) % 64, 0u);
    const absl::StatusOr<NpyArray> array = ParseNpy(bytes, "x");
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(bytes[bytes.size() - items - 1], '\n');
  }
}

TEST(ParseDenseNpy, HasAsManyRowsAsThereMayBeNodesAndAHundredMillionColumns) {
  const auto read = [](uint64_t rows, uint64_t columns) {
    return ParseDenseNpy(Array(1, Header("<f4", absl::StrCat("(", rows, ", ", columns, ")")), ""), "x").status();
  };
  EXPECT_THAT(std::string(read(kNodesMax, 0).message()), HasSubstr("has no column"));
  EXPECT_THAT(std::string(read(kNodesMax + 1, 0).message()), HasSubstr("rows are above the limit of 10000000 nodes"));
  EXPECT_TRUE(read(0, 100'000'000).ok());
  EXPECT_THAT(std::string(read(0, 100'000'001).message()), HasSubstr("columns are above the limit of 100000000"));
}

// The places where a zip archive's directory says how long a member is, by APPNOTE.TXT, section 4.3.12.
TEST(ParseSparseNpz, RefusesAMemberThatClaimsMoreThanItsBytesCanHold) {
  const std::string path = ::testing::TempDir() + "/npy_header_test.npz";
  const FeatureMatrix small{
      .rows = 3, .cols = 4, .sparse = true, .row_offsets = {0, 1, 1, 1}, .columns = {2}, .values = {1}};
  ASSERT_TRUE(WriteSparseNpz(small, path).ok());
  std::string bytes = ReadFile(path, 1 << 20).value();
  ASSERT_TRUE(ParseSparseNpz(bytes, "x").ok());
  size_t changed = 0;
  for (size_t at = bytes.find("PK\1\2"); at != std::string::npos; at = bytes.find("PK\1\2", at + 1)) {
    bytes.replace(at + 24, 4, "\xff\xff\xff\x7f");
    ++changed;
  }
  EXPECT_EQ(changed, 5u);
  const absl::Status status = ParseSparseNpz(bytes, "x").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("claims 2147483647 bytes, which "));
}

}  // namespace
}  // namespace blink
