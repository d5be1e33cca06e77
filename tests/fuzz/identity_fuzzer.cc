// Identities of certificates: an accepted URI is the one spelling of its identity.
#include "common/pki/identity.h"
#include "tests/fuzz/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using blink::Identity;
  const absl::string_view uri(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Identity> identity = Identity::FromUri(uri);
  if (!identity.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(identity.status()));
    return 0;
  }
  FUZZ_CHECK(identity->ToUri() == uri);
  const absl::StatusOr<Identity> again = Identity::FromUri(identity->ToUri());
  FUZZ_CHECK(again.ok() && *again == *identity);
  FUZZ_CHECK(identity->first_node <= identity->last_node);
  FUZZ_CHECK(identity->Covers(identity->last_node) == (identity->kind == Identity::Kind::kNodes));
  return 0;
}
