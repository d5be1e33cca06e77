// Damaged encodings: never a crash, and never accepted unless they are what the encoder writes for the row they give.
#include <random>
#include <set>

#include "common/wire/bit_coding.h"
#include "common/wire/report_codec.h"
#include "gtest/gtest.h"
#include "tests/unit/wire/codec_rows.h"

namespace blink {
namespace {

using wire_internal::Coding;

constexpr Coding kCodings[] = {Coding::kPacked, Coding::kGapsOfOnes, Coding::kGapsOfZeros, Coding::kPatterns};

char FirstByte(Coding coding) { return static_cast<char>(coding); }

void ExpectRefusedOrCanonical(const std::string& coded, uint32_t n) {
  const auto row = DecodeBits(coded, n);
  if (!row.ok()) {
    ASSERT_EQ(row.status().code(), absl::StatusCode::kInvalidArgument);
    return;
  }
  ASSERT_EQ(row->size(), n);
  ASSERT_EQ(EncodeBits(*row), coded) << "two encodings of one row";
}

class MutatedEncoding : public ::testing::TestWithParam<double> {};

TEST_P(MutatedEncoding, IsRefusedOrCanonicalAfterRandomDamage) {
  std::mt19937_64 engine(99);
  for (const uint32_t n : {40u, 300u, 2000u}) {
    for (int trial = 0; trial < 1500; ++trial) {
      std::string coded = EncodeBits(RandomRow(n, GetParam(), engine() % 50));
      for (int damage = 1 + static_cast<int>(engine() % 3); damage > 0; --damage) {
        const size_t at = engine() % coded.size();
        switch (engine() % 4) {
          case 0:
            coded[at] = static_cast<char>(coded[at] ^ (1 << engine() % 8));
            break;
          case 1:
            coded[at] = static_cast<char>(engine());
            break;
          case 2:
            coded.erase(at, 1);
            break;
          default:
            coded.insert(at, 1, static_cast<char>(engine()));
        }
        if (coded.empty()) break;
      }
      ExpectRefusedOrCanonical(coded, n);
    }
  }
}

TEST_P(MutatedEncoding, IsRefusedOrCanonicalAfterEverySingleBitFlip) {
  const std::string coded = EncodeBits(RandomRow(600, GetParam(), 5));
  for (size_t bit = 0; bit < coded.size() * 8; ++bit) {
    std::string damaged = coded;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ExpectRefusedOrCanonical(damaged, 600);
  }
}

TEST_P(MutatedEncoding, IsRefusedOrCanonicalForAnotherRoster) {
  const std::string coded = EncodeBits(RandomRow(2000, GetParam(), 6));
  for (const uint32_t n : {1u, 3u, 256u, 257u, 1999u, 2001u, 4000u, 100'000u}) ExpectRefusedOrCanonical(coded, n);
}

INSTANTIATE_TEST_SUITE_P(Densities, MutatedEncoding,
                         ::testing::Values(0.0, 0.002, 0.02, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0));

// Fails where the encoder has a coding that kCodings lacks.
TEST(Codings, AreAllTriedBelow) {
  std::set<char> written, tried;
  for (const uint32_t n : {40u, 300u, 2000u, 100'000u}) {
    for (int percent = 0; percent <= 100; ++percent) written.insert(EncodeBits(RandomRow(n, percent / 100.0, 7))[0]);
  }
  for (const Coding coding : kCodings) tried.insert(FirstByte(coding));
  EXPECT_EQ(written, tried);
}

// The same bits in a coding that the encoder does not choose for them.
TEST(AnotherSpelling, OfTheSameRowIsRefused) {
  for (const uint32_t n : {40u, 300u, 2000u}) {
    for (const double density : {0.0, 0.01, 0.1, 0.5, 0.97, 1.0}) {
      const BitRow row = RandomRow(n, density, 8);
      const uint32_t ones = row.Count();
      const std::string coded = EncodeBits(row);
      const std::string count = coded.substr(1, ones < 128 ? 1 : 2);
      for (const Coding coding : kCodings) {
        if (FirstByte(coding) == coded[0]) continue;
        std::string other = FirstByte(coding) + count;
        if (coding == Coding::kPacked) wire_internal::EncodePacked(row, other);
        if (coding == Coding::kPatterns) wire_internal::EncodePatterns(row, ones, other);
        if (coding == Coding::kGapsOfOnes && ones * 32 < n) wire_internal::EncodeGaps(row, ones, other);
        if (coding == Coding::kGapsOfZeros && (n - ones) * 32 < n) {
          wire_internal::EncodeGaps(wire_internal::Complement(row), n - ones, other);
        }
        EXPECT_EQ(DecodeBits(other, n).status().code(), absl::StatusCode::kInvalidArgument)
            << n << " bits, " << ones << " ones, coding " << static_cast<int>(coding);
      }
    }
  }
}

TEST(RandomBytes, AreRefusedOrCanonical) {
  std::mt19937_64 engine(100);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bytes(1 + engine() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(engine());
    bytes[0] = FirstByte(kCodings[engine() % std::size(kCodings)]);
    if (bytes.size() > 1 && engine() % 2) bytes[1] = static_cast<char>(engine() % 128);
    ExpectRefusedOrCanonical(bytes, 3 + engine() % 1000);
  }
}

}  // namespace
}  // namespace blink
