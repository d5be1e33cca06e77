#include "common/base/sealed.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace blink {
namespace {

constexpr int kNonceBytes = 12;
constexpr int kTagBytes = 16;

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;

const uint8_t* AsUint8(absl::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }
uint8_t* AsUint8(char* text) { return reinterpret_cast<uint8_t*>(text); }

const EVP_CIPHER* Aes256Gcm() {
  static const EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);  // once: it takes a while
  return cipher;
}

bool FitsInt(size_t size) { return size <= static_cast<size_t>(std::numeric_limits<int>::max()); }

}  // namespace

absl::StatusOr<SecretKey> SecretKey::MakeRandom() {
  SecretKey key;
  if (RAND_priv_bytes(key.key_.data(), kBytes) != 1) {
    return absl::UnavailableError("the system gave no random bytes for a key: try again");
  }
  return key;
}

absl::StatusOr<SecretKey> SecretKey::FromBytes(absl::string_view bytes) {
  if (bytes.size() != kBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a key has ", kBytes, " bytes, and there are ", bytes.size()));
  }
  SecretKey key;
  std::copy(bytes.begin(), bytes.end(), key.key_.begin());
  return key;
}

absl::StatusOr<SecretKey> SecretKey::FromText(absl::string_view text) {
  constexpr size_t kHexDigits = 2 * kBytes;
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  std::string bytes;
  const bool is_hex =
      stripped.size() == kHexDigits && std::all_of(stripped.begin(), stripped.end(), absl::ascii_isxdigit);
  if (is_hex) {
    bytes = absl::HexStringToBytes(stripped);
  } else if (!absl::Base64Unescape(stripped, &bytes)) {
    bytes.clear();
  }
  absl::StatusOr<SecretKey> key = FromBytes(bytes);
  Cleanse(bytes);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(
      "it is no key, which is 32 bytes in base64 or hexadecimal: openssl rand -base64 32 makes one");
}

SecretKey::~SecretKey() { OPENSSL_cleanse(key_.data(), key_.size()); }

std::string SecretKey::id() const {
  std::string named =
      absl::StrCat("blink key id|", absl::string_view(reinterpret_cast<const char*>(key_.data()), kBytes));
  const std::string id = DigestToHex(Sha256Of(named)).substr(0, 16);
  Cleanse(named);
  return id;
}

void Cleanse(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

absl::StatusOr<std::string> Seal(const SecretKey& key, absl::string_view context, absl::string_view bytes) {
  std::string sealed(kNonceBytes + bytes.size() + kTagBytes, '\0');
  uint8_t* const nonce = AsUint8(sealed.data());
  uint8_t* const body = nonce + kNonceBytes;
  const CipherContext cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int length = 0, rest = 0;
  if (cipher == nullptr || !FitsInt(bytes.size()) || !FitsInt(context.size()) || RAND_bytes(nonce, kNonceBytes) != 1 ||
      EVP_EncryptInit_ex2(cipher.get(), Aes256Gcm(), key.data(), nonce, nullptr) != 1 ||
      EVP_EncryptUpdate(cipher.get(), nullptr, &length, AsUint8(context), static_cast<int>(context.size())) != 1 ||
      EVP_EncryptUpdate(cipher.get(), body, &length, AsUint8(bytes), static_cast<int>(bytes.size())) != 1 ||
      EVP_EncryptFinal_ex(cipher.get(), body + length, &rest) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, body + bytes.size()) != 1) {
    return absl::UnavailableError("nothing can be encrypted now: OpenSSL lacks memory or randomness: try again");
  }
  return sealed;
}

absl::StatusOr<std::string> Unseal(const SecretKey& key, absl::string_view context, absl::string_view sealed) {
  if (sealed.size() < kSealBytes || !FitsInt(sealed.size())) {
    return absl::DataLossError("what is encrypted there is cut, or too long");
  }
  const uint8_t* const nonce = AsUint8(sealed);
  const uint8_t* const body = nonce + kNonceBytes;
  const size_t size = sealed.size() - kSealBytes;
  std::string bytes(size, '\0'), tag(sealed.substr(kNonceBytes + size));
  const CipherContext cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int length = 0, rest = 0;
  if (cipher == nullptr || EVP_DecryptInit_ex2(cipher.get(), Aes256Gcm(), key.data(), nonce, nullptr) != 1 ||
      EVP_DecryptUpdate(cipher.get(), nullptr, &length, AsUint8(context), static_cast<int>(context.size())) != 1 ||
      EVP_DecryptUpdate(cipher.get(), AsUint8(bytes.data()), &length, body, static_cast<int>(size)) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) != 1 ||
      EVP_DecryptFinal_ex(cipher.get(), AsUint8(bytes.data()) + length, &rest) != 1) {
    Cleanse(bytes);
    return absl::DataLossError("it was changed, or was encrypted for another place or with another key");
  }
  return bytes;
}

}  // namespace blink
