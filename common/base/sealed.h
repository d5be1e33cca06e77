// Bytes that only the holder of a key can read or change: AES-256-GCM of OpenSSL.
//
//   BLINK_ASSIGN_OR_RETURN(const SecretKey key, SecretKey::MakeRandom());
//   BLINK_ASSIGN_OR_RETURN(const std::string sealed, Seal(key, "what it is|where it belongs", bytes));
//   BLINK_ASSIGN_OR_RETURN(const std::string bytes, Unseal(key, "what it is|where it belongs", sealed));
//
// sealed: nonce (12, random), ciphertext (as long as the bytes), tag (16). The context is not in it: whoever unseals
// must know it, so that what was sealed for one place is refused at another. One key may seal 2^32 texts, with a
// probability below 2^-32 that two get one nonce (NIST SP 800-38D, 8.3).
#ifndef BLINK_COMMON_BASE_SEALED_H_
#define BLINK_COMMON_BASE_SEALED_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

// 256 bits, which are overwritten when it goes away. It is in no log and no error.
class SecretKey {
 public:
  static constexpr size_t kBytes = 32;

  static absl::StatusOr<SecretKey> MakeRandom();                        // UNAVAILABLE: no randomness now
  static absl::StatusOr<SecretKey> FromBytes(absl::string_view bytes);  // INVALID_ARGUMENT: not 32
  static absl::StatusOr<SecretKey> FromText(absl::string_view text);    // base64 or hexadecimal; likewise
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();

  // For a pipe, or to be sealed; whoever has read it calls Cleanse.
  std::string bytes() const { return std::string(reinterpret_cast<const char*>(key_.data()), kBytes); }
  const uint8_t* data() const { return key_.data(); }
  // 16 hexadecimal digits that tell keys apart, and nothing about the key.
  std::string id() const;

 private:
  SecretKey() = default;
  std::array<uint8_t, kBytes> key_{};
};

// Overwrites all of `secret`.
void Cleanse(std::string& secret);

inline constexpr size_t kSealBytes = 12 + 16;  // more than the bytes that are sealed

absl::StatusOr<std::string> Seal(const SecretKey& key, absl::string_view context, absl::string_view bytes);
// DATA_LOSS: they were changed, or sealed with another key or context.
absl::StatusOr<std::string> Unseal(const SecretKey& key, absl::string_view context, absl::string_view sealed);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_SEALED_H_
