#include "common/base/sealed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

SecretKey KeyOf(char byte) { return SecretKey::FromBytes(std::string(32, byte)).value(); }

TEST(Sealed, GivesBackWhatWasSealed) {
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(100'000, '\0')}) {
    const auto sealed = Seal(KeyOf('k'), "here", bytes);
    ASSERT_TRUE(sealed.ok()) << sealed.status();
    EXPECT_EQ(sealed->size(), bytes.size() + kSealBytes);
    EXPECT_EQ(Unseal(KeyOf('k'), "here", *sealed).value(), bytes);
  }
}

// Test cases 13 and 14 of "The Galois/Counter Mode of Operation" (McGrew, Viega).
TEST(Sealed, UnsealsWhatAnotherImplementationSealed) {
  const std::string nonce(12, '\0');
  EXPECT_EQ(Unseal(KeyOf('\0'), "", nonce + absl::HexStringToBytes("530f8afbc74536b9a963b4f1c4cb738b")).value(), "");
  const std::string sealed = nonce + absl::HexStringToBytes(
                                         "cea7403d4d606b6e074ec5d3baf39d18"
                                         "d0d1c8a799996bf0265b98b5d48ab919");
  EXPECT_EQ(Unseal(KeyOf('\0'), "", sealed).value(), std::string(16, '\0'));
}

TEST(Sealed, RefusesAChangeOfAnyBit) {
  const std::string sealed = Seal(KeyOf('k'), "here", "some bytes").value();
  for (size_t at = 0; at < sealed.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = sealed;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      EXPECT_EQ(Unseal(KeyOf('k'), "here", changed).status().code(), absl::StatusCode::kDataLoss) << at;
    }
  }
}

TEST(Sealed, RefusesAnotherLength) {
  const std::string sealed = Seal(KeyOf('k'), "here", "some bytes").value();
  for (size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(Unseal(KeyOf('k'), "here", sealed.substr(0, size)).status())) << size;
  }
  EXPECT_TRUE(absl::IsDataLoss(Unseal(KeyOf('k'), "here", sealed + "x").status()));
}

TEST(Sealed, RefusesAnotherKeyOrPlace) {
  const std::string sealed = Seal(KeyOf('k'), "here", "some bytes").value();
  EXPECT_TRUE(absl::IsDataLoss(Unseal(KeyOf('l'), "here", sealed).status()));
  EXPECT_TRUE(absl::IsDataLoss(Unseal(KeyOf('k'), "there", sealed).status()));
}

TEST(Sealed, NeverRepeatsANonce) {
  std::set<std::string> nonces;
  for (int i = 0; i < 10'000; ++i) nonces.insert(Seal(KeyOf('k'), "here", "").value().substr(0, 12));
  EXPECT_EQ(nonces.size(), 10'000);
}

TEST(SecretKey, IsReadFromBase64AndFromHexadecimal) {
  const std::string bytes = KeyOf('k').bytes();
  EXPECT_EQ(SecretKey::FromText(absl::Base64Escape(bytes) + "\n").value().bytes(), bytes);
  EXPECT_EQ(SecretKey::FromText(" " + absl::BytesToHexString(bytes)).value().bytes(), bytes);
}

TEST(SecretKey, RefusesATextOfAnotherLengthAndDoesNotRepeatIt) {
  for (const std::string& text : {std::string(), std::string("secret"), absl::Base64Escape(std::string(31, 's')),
                                  absl::Base64Escape(std::string(33, 's')), std::string(64, 'x')}) {
    const absl::Status refused = SecretKey::FromText(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << text;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("openssl rand -base64 32"));
    EXPECT_TRUE(text.empty() || !absl::StrContains(refused.message(), text)) << text;
  }
}

TEST(SecretKey, IsDrawnAnewEachTimeAndKnownByItsId) {
  const SecretKey a = SecretKey::MakeRandom().value(), b = SecretKey::MakeRandom().value();
  EXPECT_NE(a.bytes(), b.bytes());
  EXPECT_NE(a.id(), b.id());
  EXPECT_EQ(a.id(), SecretKey::FromBytes(a.bytes()).value().id());
  EXPECT_EQ(a.id().size(), 16);
}

TEST(Cleanse, OverwritesAndEmptiesASecret) {
  std::string secret(100, 's');
  const char* const at = secret.data();
  Cleanse(secret);
  EXPECT_TRUE(secret.empty());
  EXPECT_EQ(at[50], '\0');  // the string keeps its memory
}

}  // namespace
}  // namespace blink
