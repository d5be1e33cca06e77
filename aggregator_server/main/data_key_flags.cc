#include "aggregator_server/main/data_key_flags.h"

#include "aggregator_server/main/data_key.h"
#include "common/base/status_macros.h"

namespace blink {

void DataKeyFlags::AddTo(CLI::App& app) {
  app.add_option("--data-key-file", file,
                 "file with the key that encrypts the reports of new rounds: 32 bytes in base64 or hexadecimal, as "
                 "openssl rand -base64 32 prints them; absent: they are not encrypted");
  app.add_option("--data-key-command", command,
                 "program that prints that key instead: its absolute path and arguments, separated by blanks; no shell "
                 "starts it, and it has 30 seconds");
  app.add_option("--old-data-key-file", old_files,
                 "files with earlier keys, separated by commas: what they encrypt is encrypted with the new key at the "
                 "start, and then they are of no more use")
      ->delimiter(',');
}

absl::StatusOr<DataKeys> DataKeyFlags::Read() const {
  DataKeys keys;
  if (!file.empty() && !command.empty()) {
    return absl::InvalidArgumentError("--data-key-file and --data-key-command exclude each other");
  }
  if (!old_files.empty() && file.empty() && command.empty()) {
    return absl::InvalidArgumentError(
        "--old-data-key-file is for earlier keys: name the key of new rounds with --data-key-file or "
        "--data-key-command");
  }
  if (!file.empty()) {
    BLINK_ASSIGN_OR_RETURN(keys.current, ReadDataKeyFile(file));
  }
  if (!command.empty()) {
    BLINK_ASSIGN_OR_RETURN(keys.current, ReadDataKeyOfCommand(command));
  }
  for (const std::string& path : old_files) {
    BLINK_ASSIGN_OR_RETURN(const SecretKey key, ReadDataKeyFile(path));
    keys.old.push_back(key);
  }
  return keys;
}

}  // namespace blink
