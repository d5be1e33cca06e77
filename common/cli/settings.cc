#include "common/cli/settings.h"

#include <unistd.h>

#include <algorithm>
#include <regex>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/cli/help.h"
#include "common/cli/suggestion.h"

namespace blink {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string KeyOf(absl::string_view flag) {
  const size_t begin = flag.find_first_not_of('-');
  return begin == absl::string_view::npos ? "" : std::string(flag.substr(begin, flag.find('=') - begin));
}

std::vector<std::string> With(std::vector<std::string> names, const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

void AppendNames(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (!Contains(names, name)) names.push_back(name);
    }
  }
  for (const CLI::App* command : CommandsOf(app)) AppendNames(*command, names);
}

// "postgresql://user:***@host": the value may hold a password that somebody put there against all advice.
std::string WithoutPassword(absl::string_view value) {
  static const auto* const named = new std::regex("(password=)[^&\\s]*", std::regex::icase);
  std::string text = std::regex_replace(std::string(value), *named, "$1***");
  const size_t scheme = text.find("://"), begin = scheme == std::string::npos ? 0 : scheme + 3;
  // The last @ before the path: a password may hold one that should have been written as %40.
  const size_t at = text.rfind('@'), colon = text.find(':', begin);
  if (at == std::string::npos || colon == std::string::npos || colon > at) return text;
  return absl::StrCat(text.substr(0, colon + 1), "***", text.substr(at));
}

}  // namespace

Variables ReadEnvironment() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(variables.begin(), variables.end());
  return variables;
}

std::string VariableName(absl::string_view prefix, absl::string_view key) {
  return absl::StrCat(prefix, "_", absl::AsciiStrToUpper(absl::StrReplaceAll(key, {{"-", "_"}})));
}

absl::StatusOr<std::map<std::string, std::string>> FindSettings(const Variables& variables, absl::string_view prefix,
                                                                const std::vector<std::string>& keys) {
  std::map<std::string, std::string> found;
  std::vector<std::string> names;
  for (const std::string& key : keys) names.push_back(VariableName(prefix, key));
  for (const auto& [name, value] : variables) {
    if (!absl::StartsWith(name, absl::StrCat(prefix, "_"))) continue;
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the environment variable ", name, " is unknown", Suggest(name, names)));
    }
    if (value.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the environment variable ", name, " is empty: unset it"));
    }
    found[keys[known - names.begin()]] = value;
  }
  return found;
}

std::string SettingLine(absl::string_view key, absl::string_view value, absl::string_view place) {
  if (value.empty()) return absl::StrCat("# ", key, " is not set\n");
  const std::string shown = WithoutPassword(value);
  const char quote = absl::StrContains(shown, "\"") ? '\'' : '"';
  return absl::StrCat(key, "=", std::string(1, quote), shown, std::string(1, quote), "  # ", place, "\n");
}

Settings::Settings(std::string prefix, std::vector<std::string> actions)
    : prefix_(std::move(prefix)), no_keys_(With({"help", "version", "generate"}, actions)) {}

std::vector<std::string> Settings::TakeEnvironment(const CLI::App& app, int argc, const char* const* argv,
                                                   const Variables& variables) {
  std::vector<std::string> arguments(argv, argv + argc);
  const CLI::App* command = &app;
  bool are_options = true;  // none are, behind "--"
  for (size_t k = 1; k < arguments.size(); ++k) {
    are_options = are_options && arguments[k] != "--";
    if (are_options && absl::StartsWith(arguments[k], "--")) in_line_.push_back(KeyOf(arguments[k]));
    for (const CLI::App* below : CommandsOf(*command)) {
      if (below->get_name() == arguments[k]) command = below;
    }
  }
  std::vector<std::string> names;
  AppendNames(app, names);
  names.erase(std::remove_if(names.begin(), names.end(), [&](const auto& name) { return Contains(no_keys_, name); }),
              names.end());
  const auto found = FindSettings(variables, prefix_, names);
  // CLI11 puts the first text before the second: "BLINK_...: why"
  if (!found.ok()) throw CLI::ParseError(std::string(found.status().message()), CLI::ExitCodes::ValidationError);
  for (const auto& [key, value] : *found) {
    if (Contains(in_line_, key) || command->get_option_no_throw("--" + key) == nullptr) continue;
    variables_[key] = VariableName(prefix_, key);
    arguments.push_back(absl::StrCat("--", key, "=", value));
  }
  return arguments;
}

void Settings::NoteFile(const std::string& key, const std::string& place) { in_file_[key] = place; }

bool Settings::IsKey(const CLI::App& app, const std::string& key) const {
  return key != "config" && !Contains(no_keys_, key) && app.get_option_no_throw("--" + key) != nullptr;
}

std::vector<std::string> Settings::Keys(const CLI::App& app) const {
  std::vector<std::string> keys;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (IsKey(app, name)) keys.push_back(name);
    }
  }
  return keys;
}

std::string Settings::PlaceOf(const std::string& key) const {
  if (Contains(in_line_, key)) return "flag";
  const auto variable = variables_.find(key);
  if (variable != variables_.end()) return variable->second;
  const auto line = in_file_.find(key);
  return line == in_file_.end() ? "" : line->second;
}

std::string Settings::WithPlace(const std::string& error) const {
  const size_t begin = error.find("--");
  if (begin == std::string::npos) return error;
  const size_t end = error.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", begin);
  const std::string place = PlaceOf(KeyOf(error.substr(begin, end - begin)));
  return place.empty() || place == "flag" ? error : absl::StrCat(place, ": ", error);
}

std::string Settings::Print(CLI::App& command) const {
  std::string text;
  for (const std::string& key : With({"config"}, Keys(command))) {
    CLI::Option* const option = command.get_option_no_throw("--" + key);
    if (option == nullptr) continue;
    const std::string place = PlaceOf(key);
    const bool is_flag = option->get_items_expected_max() == 0;
    const bool is_list = option->get_items_expected_max() > 1;
    std::string value;
    if (is_list) {
      value = absl::StrJoin(option->results(), ",");
    } else if (option->count() > 0) {
      value = option->as<std::string>();
    } else if (is_flag) {
      value = "false";
    } else {
      value = option->capture_default_str()->get_default_str();
    }
    // The file itself can only be named from outside of it.
    if (key == "config") {
      absl::StrAppend(&text, value.empty() ? "# there is no configuration file\n"
                                           : absl::StrCat("# the configuration file is ", value, " (", place, ")\n"));
    } else {
      absl::StrAppend(&text, SettingLine(key, value, place.empty() ? "default" : place));
    }
  }
  return text;
}

}  // namespace blink
