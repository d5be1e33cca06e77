// The flags of blink-aggregator, and what they come to.
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_FLAGS_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_FLAGS_H_

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "aggregator_server/main/aggregator.h"
#include "aggregator_server/main/data_key_flags.h"
#include "common/base/logging.h"
#include "common/cli/settings.h"

namespace blink {

inline constexpr char kVariablePrefix[] = "BLINK_AGGREGATOR";

struct Flags {
  AggregatorOptions options;
  TlsFiles tls;
  bool insecure = false, check_health = false, check_config = false, print_config = false;
  std::string port_file;
  LogOptions log;
  std::string retain_reports;
  double worker_seconds_max = 0, worker_silence_max = 600;
  std::string roster;
  std::string store, store_file;
  std::string epsilon = "1";  // of the doctor
  bool json = false;          // likewise
  DataKeyFlags data_key;
};

void DefineFlags(CLI::App& app, Flags& flags);

// `blink-aggregator doctor`: the flags of a start, but for those that ask for something else.
void DefineDoctor(CLI::App& app, Flags& flags);

// Reads a configuration file. Its relative paths are meant from its own folder, those of the command line from here.
// Both outlive it.
std::shared_ptr<CLI::Config> MakeConfigReader(const CLI::App& app, Settings& settings);

// Reads the files that the flags name, and fills flags.options. INVALID_ARGUMENT: flags that do not go together. Other
// errors are those of the files.
absl::Status CompleteOptions(Flags& flags);

// Two of its steps.
absl::Status ReadStore(Flags& flags);
absl::Status ReadRoster(const std::string& path, Deployment& deployment);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_FLAGS_H_
