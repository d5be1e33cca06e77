// The key of a round, encrypted with a data key, as a store keeps it:
//
//   "1"                            format
//   id of the data key             16 hexadecimal digits (SecretKey::id)
//   the key of the round, sealed   60 bytes; its context is "blink round key 1|<round>"
#ifndef BLINK_AGGREGATOR_SERVER_STORE_WRAPPED_KEY_H_
#define BLINK_AGGREGATOR_SERVER_STORE_WRAPPED_KEY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sealed.h"

namespace blink {

absl::StatusOr<std::string> WrapKey(const SecretKey& data_key, const std::string& round_id, const SecretKey& key);

// The id of the data key. DATA_LOSS: `wrapped` is none.
absl::StatusOr<std::string> DataKeyIdOf(const std::string& round_id, const std::string& wrapped);

// FAILED_PRECONDITION: none of `data_keys` has encrypted it. DATA_LOSS: it was changed.
absl::StatusOr<SecretKey> UnwrapKey(const std::vector<SecretKey>& data_keys, const std::string& round_id,
                                    const std::string& wrapped);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_WRAPPED_KEY_H_
