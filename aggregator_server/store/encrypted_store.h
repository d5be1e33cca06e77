// Reports at rest that cannot be read without a key: a ReportStore over any other.
//
//   data key (one for a deployment: --data-key-file) --encrypts--> key of a round (random) --encrypts--> its reports
//
// Every new round gets a key of its own, if there is a data key. The store below holds it encrypted (its "wrapped"
// keys), and of each report the noisy degree and the coded bits, encrypted for its round, node and digest. Digests,
// receipts and rounds stay readable there. Rounds that are older than the data key, and their reports, stay as they
// are. Who deletes a round's key deletes its reports, wherever copies of them lie.
//
// Of the aggregators that share a store, each needs the data key. One that lacks it takes no report of an encrypted
// round (UNAVAILABLE), and its node tries another.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_ENCRYPTED_STORE_H_
#define BLINK_AGGREGATOR_SERVER_STORE_ENCRYPTED_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/store/report_store.h"
#include "common/base/sealed.h"

namespace blink {

struct DataKeys {
  std::optional<SecretKey> current;  // of new rounds; absent: their reports are not encrypted
  std::vector<SecretKey> old;        // by which keys of rounds may be encrypted still
  bool accept_loss = false;          // go on although the reports of some rounds cannot be read any more
};

// Whether a round has reports, or may get some: otherwise nobody needs its key.
bool MayHaveReports(const v1::Round& round);

// Whether `keys` open these wrapped keys of rounds; the errors are those of OpenEncryptedStore.
absl::Status CheckDataKeys(const DataKeys& keys, const std::map<std::string, std::string>& wrapped_keys);

// Encrypts the keys of rounds anew that one of `keys.old` encrypts. FAILED_PRECONDITION: the store has encrypted
// rounds, and none of `keys` is theirs. DATA_LOSS: the key of a round was changed.
absl::StatusOr<std::unique_ptr<ReportStore>> OpenEncryptedStore(std::unique_ptr<ReportStore> store,
                                                                const DataKeys& keys);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_ENCRYPTED_STORE_H_
