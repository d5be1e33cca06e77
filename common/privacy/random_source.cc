#include "common/privacy/random_source.h"

#include <openssl/rand.h>

#include <algorithm>

namespace blink {
namespace {

class OpenSslRandom final : public RandomSource {
 public:
  absl::Status Fill(absl::Span<uint8_t> bytes) override {
    constexpr size_t kBytesPerCallMax = 1 << 30;  // RAND_priv_bytes takes an int
    while (!bytes.empty()) {
      const size_t size = std::min(bytes.size(), kBytesPerCallMax);
      if (RAND_priv_bytes(bytes.data(), static_cast<int>(size)) != 1) {
        return absl::UnavailableError("the random generator of OpenSSL failed; nothing was drawn");
      }
      bytes.remove_prefix(size);
    }
    return absl::OkStatus();
  }
};

}  // namespace

RandomSource& SecureRandom() {
  static OpenSslRandom* const random = new OpenSslRandom;
  return *random;
}

}  // namespace blink
