// The data key of the deployment (encrypted_store.h), from a file or from a program.
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_DATA_KEY_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_DATA_KEY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/sealed.h"

namespace blink {

// Warns in the log where other users may read the file. Errors of ReadFile. FAILED_PRECONDITION: it holds no key.
absl::StatusOr<SecretKey> ReadDataKeyFile(const std::string& path);

// The standard output of a program, which no shell starts: `command` is its absolute path and its arguments, separated
// by blanks. Its standard error is that of this process. FAILED_PRECONDITION: it cannot be started, fails, takes longer
// than `time_max`, or prints no key. INVALID_ARGUMENT: no absolute path.
absl::StatusOr<SecretKey> ReadDataKeyOfCommand(const std::string& command, absl::Duration time_max = absl::Seconds(30));

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_DATA_KEY_H_
