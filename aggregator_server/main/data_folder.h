// Whether what lies in DATA belongs together: a part that is missing, or older than the others, must not be taken for
// a beginning.
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_DATA_FOLDER_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_DATA_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "aggregator_server/store/report_store.h"

namespace blink {

// Whether an aggregator has opened a store in `data_folder` before: it left its roster, or a round.
bool WasUsedBefore(const std::string& data_folder);

// OK where there is no DATA/rounds yet. FAILED_PRECONDITION: it is no folder. PERMISSION_DENIED: this user may not
// write to it, so that no round could be sealed.
absl::Status CheckRoundsCanBeWritten(const std::string& data_folder);

// Before the store is opened, which makes one where there is none. DATA_LOSS: the folder was used before, and has no
// store now. With `accept_loss` that is a warning. Other errors: what should be the store's folder cannot be listed.
absl::Status CheckStoreIsThere(const std::string& data_folder, bool accept_loss);

// With a store in a database. FAILED_PRECONDITION: `data_folder` has a store of its own, whose rounds would be
// forgotten.
absl::Status CheckNoStoreIsThere(const std::string& data_folder);

// The holder of the lease writes results to DATA/rounds, the others read them there, and the next holder goes on from
// what lies there. FAILED_PRECONDITION: DATA/rounds is not the folder of the others who share `store`. With
// `accept_loss` it becomes that folder.
absl::Status CheckRoundsAreShared(const std::string& data_folder, ReportStore& store, bool accept_loss);

// DATA_LOSS: DATA/rounds has the folder of a round that the store does not know, or that is open there, although a
// folder is written after the seal. With `accept_loss` such folders are moved to DATA/lost-rounds, since they may hold
// the only copy of the reports.
absl::Status CheckRoundFolders(const std::string& data_folder, ReportStore& store, bool accept_loss);

// DATA_LOSS: rounds are ready in the store, and DATA/rounds has the folder of none of them. With `accept_loss`, or if
// only some are missing, which an operator may have removed, that is a warning.
absl::Status CheckResultsAreThere(const std::string& data_folder, ReportStore& store, bool accept_loss);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_DATA_FOLDER_H_
