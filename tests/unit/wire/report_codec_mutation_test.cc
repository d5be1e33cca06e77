// Damaged encodings: never a crash, and never accepted unless they are what the encoder writes for the row they give.
#include <random>

#include "common/wire/report_codec.h"
#include "gtest/gtest.h"
#include "tests/unit/wire/codec_rows.h"

namespace blink {
namespace {

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

TEST(RandomBytes, AreRefusedOrCanonical) {
  std::mt19937_64 engine(100);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bytes(1 + engine() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(engine());
    bytes[0] = static_cast<char>(0x10 + engine() % 4);
    if (bytes.size() > 1 && engine() % 2) bytes[1] = static_cast<char>(engine() % 128);
    ExpectRefusedOrCanonical(bytes, 3 + engine() % 1000);
  }
}

}  // namespace
}  // namespace blink
