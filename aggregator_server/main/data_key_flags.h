// The flags of the key that encrypts reports at rest.
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_DATA_KEY_FLAGS_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_DATA_KEY_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "aggregator_server/store/encrypted_store.h"

namespace blink {

struct DataKeyFlags {
  std::string file, command;
  std::vector<std::string> old_files;

  void AddTo(CLI::App& app);
  // INVALID_ARGUMENT: flags that do not go together. Other errors as of data_key.h.
  absl::StatusOr<DataKeys> Read() const;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_DATA_KEY_FLAGS_H_
