// Where a program's settings come from. There is one order for all programs: what the command line says counts, then
// the environment, then the configuration file, then the default.
//
//   Settings settings("BLINK_AGGREGATOR");
//   ParseStrictly(app, settings.TakeEnvironment(app, argc, argv, ReadEnvironment()));
//   ... the reader of the configuration file calls settings.NoteFile for each key
//   std::cout << settings.Print(app);
//
// The variable of the flag --log-level is BLINK_AGGREGATOR_LOG_LEVEL. A variable with this prefix that belongs to no
// flag is refused, since it is most likely mistyped.
#ifndef BLINK_COMMON_CLI_SETTINGS_H_
#define BLINK_COMMON_CLI_SETTINGS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The environment of this process.
Variables ReadEnvironment();

// Those of `variables` that set one of `keys`: "BLINK_OPERATOR_TLS_KEY" sets "tls-key" where the prefix is
// "BLINK_OPERATOR". Returns INVALID_ARGUMENT, naming the variable, for one with the prefix that sets none of them, and
// for one that is empty.
absl::StatusOr<std::map<std::string, std::string>> FindSettings(const Variables& variables, absl::string_view prefix,
                                                                const std::vector<std::string>& keys);

// "BLINK_OPERATOR_TLS_KEY"
std::string VariableName(absl::string_view prefix, absl::string_view key);

// `listen="127.0.0.1:7443"  # aggregator.conf:8`: a line that a configuration file may have. An empty value gives
// `# listen is not set`. The password of a URI is left out.
std::string SettingLine(absl::string_view key, absl::string_view value, absl::string_view place);

class Settings {
 public:
  // `actions` are flags that say what to do now, and so are no settings: "check-health". --help, --version and
  // --config are known.
  explicit Settings(std::string prefix, std::vector<std::string> actions = {});

  // The command line, and behind it a flag for each variable that sets one which is not in it. The options are those of
  // the chosen command; a variable for another command has no effect here. Throws CLI::ValidationError for a variable
  // that FindSettings refuses.
  std::vector<std::string> TakeEnvironment(const CLI::App& app, int argc, const char* const* argv,
                                           const Variables& variables);

  // Remembers that the configuration file sets this key, at "file:line".
  void NoteFile(const std::string& key, const std::string& place);

  // Whether a configuration file may have this key.
  bool IsKey(const CLI::App& app, const std::string& key) const;
  std::vector<std::string> Keys(const CLI::App& app) const;

  // `error` after the place of the value that it is about, unless the command line gave that value.
  std::string WithPlace(const std::string& error) const;

  // A SettingLine of every setting of this command, after it was parsed.
  std::string Print(CLI::App& command) const;

 private:
  std::string PlaceOf(const std::string& key) const;  // empty: nobody set it

  const std::string prefix_;
  const std::vector<std::string> no_keys_;
  std::vector<std::string> in_line_;              // the keys that the command line gives
  std::map<std::string, std::string> variables_;  // the name of the variable of each key that one sets
  std::map<std::string, std::string> in_file_;    // "file:line" of each key
};

}  // namespace blink

#endif  // BLINK_COMMON_CLI_SETTINGS_H_
