// SHA-256, of a whole text or piece by piece:
//
//   const Digest digest = Sha256().Update(header).Update(body).Finish();
#ifndef BLINK_COMMON_BASE_DIGEST_H_
#define BLINK_COMMON_BASE_DIGEST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256& Update(absl::string_view bytes);
  Sha256& UpdateUint64(uint64_t value);  // 8 bytes, little endian
  Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Digest Sha256Of(absl::string_view bytes);
std::string DigestToHex(const Digest& digest);
std::string DigestToBytes(const Digest& digest);
// INVALID_ARGUMENT unless `bytes` is 32 bytes long.
absl::StatusOr<Digest> DigestFromBytes(absl::string_view bytes);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_DIGEST_H_
