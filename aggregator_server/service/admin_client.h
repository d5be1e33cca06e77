// Asks the aggregator that runs on a data folder, over the socket in it. UNAVAILABLE: none runs there, or it does not
// answer. PERMISSION_DENIED: this user may not open the socket.
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_ADMIN_CLIENT_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_ADMIN_CLIENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace blink {

struct Snapshot {
  std::string folder;                  // of the store; the caller removes it
  std::vector<std::string> round_ids;  // sealed before it was made
};
absl::StatusOr<Snapshot> AskForSnapshot(const std::string& data_folder);

struct DrainState {
  uint32_t reports_in_flight = 0;
  bool worker_runs = false;
};
absl::StatusOr<DrainState> AskToDrain(const std::string& data_folder, bool undo);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_ADMIN_CLIENT_H_
