#include "common/base/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace blink {

struct Sha256::Context {
  EVP_MD_CTX* evp = nullptr;
};

namespace {

// A failure of SHA-256 in OpenSSL means that the library is unusable: nothing that follows could be trusted.
void OrDie(int ok) {
  if (ok != 1) std::abort();
}

}  // namespace

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  context_->evp = EVP_MD_CTX_new();
  OrDie(context_->evp != nullptr);
  OrDie(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr));
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_->evp); }

Sha256& Sha256::Update(absl::string_view bytes) {
  OrDie(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()));
  return *this;
}

Sha256& Sha256::UpdateUint64(uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return Update(absl::string_view(bytes, sizeof(bytes)));
}

Digest Sha256::Finish() {
  Digest digest;
  unsigned int size = 0;
  OrDie(EVP_DigestFinal_ex(context_->evp, digest.data(), &size));
  OrDie(size == digest.size());
  return digest;
}

Digest Sha256Of(absl::string_view bytes) { return Sha256().Update(bytes).Finish(); }

std::string DigestToBytes(const Digest& digest) { return std::string(digest.begin(), digest.end()); }

std::string DigestToHex(const Digest& digest) { return absl::BytesToHexString(DigestToBytes(digest)); }

absl::StatusOr<Digest> DigestFromBytes(absl::string_view bytes) {
  Digest digest;
  if (bytes.size() != digest.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a digest has 32 bytes, not ", bytes.size()));
  }
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

}  // namespace blink
