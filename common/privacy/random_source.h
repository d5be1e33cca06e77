// Where random bytes come from. Production uses OpenSSL's generator only. Sources with a seed exist only in tools/ and
// in tests.
#ifndef BLINK_COMMON_PRIVACY_RANDOM_SOURCE_H_
#define BLINK_COMMON_PRIVACY_RANDOM_SOURCE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace blink {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // Fills `bytes` with independent uniform bytes. Returns UNAVAILABLE when it fails; `bytes` are unspecified then.
  virtual absl::Status Fill(absl::Span<uint8_t> bytes) = 0;
};

// OpenSSL's private generator (RAND_priv_bytes), seeded by the operating system. Safe after a fork.
RandomSource& SecureRandom();

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_RANDOM_SOURCE_H_
