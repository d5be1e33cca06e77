#include "common/cli/help.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/program.h"

namespace blink {
namespace {

CLI::App* FindCommand(CLI::App& app, absl::string_view path) {
  CLI::App* command = &app;
  for (const absl::string_view name : absl::StrSplit(path, ' ', absl::SkipEmpty())) {
    const std::vector<CLI::App*> below = CommandsOf(*command);
    const auto found =
        std::find_if(below.begin(), below.end(), [&](const CLI::App* app) { return app->get_name() == name; });
    if (found == below.end()) return nullptr;
    command = *found;
  }
  return command;
}

// With the way to it: "blink", "blink round", "blink round create".
struct NamedCommand {
  std::string path;
  const CLI::App* app;
};

void AppendCommands(const std::string& path, const CLI::App& app, std::vector<NamedCommand>& all) {
  all.push_back({path, &app});
  for (const CLI::App* command : CommandsOf(app)) {
    if (!command->get_name().empty()) AppendCommands(absl::StrCat(path, " ", command->get_name()), *command, all);
  }
}

std::vector<NamedCommand> AllCommands(const CLI::App& app) {
  std::vector<NamedCommand> all;
  AppendCommands(app.get_name(), app, all);
  return all;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// 'round' as bash reads it.
std::string Quote(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string JoinQuoted(const std::vector<std::string>& texts, const char* between) {
  return absl::StrJoin(texts, between, [](std::string* out, const std::string& text) { out->append(Quote(text)); });
}

// For roff: no hyphen is broken, no line is a request.
std::string Roff(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  std::vector<std::string> lines = absl::StrSplit(escaped, '\n');
  for (std::string& line : lines) {
    if (absl::StartsWith(line, ".") || absl::StartsWith(line, "'")) line.insert(0, "\\&");
  }
  return absl::StrJoin(lines, "\n");
}

std::string OptionEntry(const CLI::Option& option) {
  const std::vector<std::string> names = VisibleNamesOf(option);
  std::string head = absl::StrJoin(
      names, ", ", [](std::string* out, const std::string& name) { absl::StrAppend(out, "\\fB", Roff(name), "\\fR"); });
  if (names.empty()) head = absl::StrCat("\\fI", Roff(option.get_name(/*positional=*/true)), "\\fR");
  const std::vector<std::string> choices = ChoicesOf(option);
  if (!choices.empty()) {
    absl::StrAppend(&head, " \\fI", Roff(absl::StrJoin(choices, "|")), "\\fR");
  } else if (TakesValue(option) && !names.empty()) {
    absl::StrAppend(&head, " \\fIVALUE\\fR");
  }
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) absl::StrAppend(&text, " [", option.get_default_str(), "]");
  if (option.get_required()) absl::StrAppend(&text, text.empty() ? "" : ". ", "Required.");
  return absl::StrCat(".TP\n", head, "\n", Roff(text), "\n");
}

std::string OptionEntries(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) text += OptionEntry(*option);
  }
  return text;
}

// As it stands in --help.
std::string Verbatim(const std::string& text) {
  return text.empty() ? "" : absl::StrCat(".PP\n.nf\n", Roff(absl::StripAsciiWhitespace(text)), "\n.fi\n");
}

// The footer without the exit codes, which a page shows once.
std::string ExamplesOf(const CLI::App& app) {
  const std::string footer = app.get_footer();
  return footer.substr(0, std::min(footer.find("Exit codes:"), footer.size()));
}

}  // namespace

void AddExamples(CLI::App& app, absl::Span<const CommandExamples> examples) {
  for (const CommandExamples& entry : examples) {
    CLI::App* const command = FindCommand(app, entry.command);
    if (command == nullptr) continue;
    std::string footer = "Examples:\n";
    for (const char* const line : entry.lines) absl::StrAppend(&footer, "  ", line, "\n");
    const std::string before = command->get_footer();
    command->footer(before.empty() ? footer : absl::StrCat(footer, "\n", before));
  }
}

std::vector<CLI::App*> CommandsOf(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}
std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> VisibleNamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  if (option.get_group().empty()) return names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // "TEXT:{hard,soft,hybrid}"
  const size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return absl::StrSplit(type.substr(begin + 1, end - begin - 1), ',');
}

std::string BashCompletion(const CLI::App& app) {
  const std::string function = absl::StrCat("_", absl::StrReplaceAll(app.get_name(), {{"-", "_"}}));
  const std::string choose = function + "_choose";
  std::string commands, values, words;
  std::vector<std::string> paths, with_value;
  for (const NamedCommand& command : AllCommands(app)) {
    if (command.app != &app) paths.push_back(command.path);
    std::vector<std::string> offered;
    for (const CLI::App* below : CommandsOf(*command.app)) offered.push_back(below->get_name());
    for (const CLI::Option* option : command.app->get_options()) {
      const std::vector<std::string> names = VisibleNamesOf(*option);
      offered.insert(offered.end(), names.begin(), names.end());
      if (names.empty() && !option->get_group().empty()) {  // a word without a flag, as in `completion bash`
        const std::vector<std::string> choices = ChoicesOf(*option);
        offered.insert(offered.end(), choices.begin(), choices.end());
      }
      if (!TakesValue(*option) || names.empty()) continue;
      std::vector<std::string> places;
      for (const std::string& name : names) places.push_back(absl::StrCat(command.path, " ", name));
      if (const std::vector<std::string> choices = ChoicesOf(*option); !choices.empty()) {
        absl::StrAppend(&values, "    ", JoinQuoted(places, "|"), ") ", choose, " ", JoinQuoted(choices, " "),
                        "; return;;\n");
      } else {
        with_value.insert(with_value.end(), places.begin(), places.end());
      }
    }
    absl::StrAppend(&words, "    ", Quote(command.path), ") COMPREPLY=($(compgen -W ",
                    Quote(absl::StrJoin(offered, " ")), " -- \"$current\"));;\n");
  }
  // Other values are files, or nothing that could be completed: bash's own completion takes over.
  if (!with_value.empty()) absl::StrAppend(&values, "    ", JoinQuoted(with_value, "|"), ") return;;\n");
  if (!paths.empty()) commands = absl::StrCat("      ", JoinQuoted(paths, "|"), ") command=\"$command $word\";;\n");
  return absl::StrCat(
      "# bash completion for ", app.get_name(), " ", ProgramVersion(), ", made by the program itself\n", choose,
      "() {  # the names that begin with $current, in capitals or not\n  local name\n",
      "  for name; do if [[ ${name,,} == \"${current,,}\"* ]]; then COMPREPLY+=(\"$name\"); fi; done\n}\n", function,
      "() {\n  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n",
      "  local command=", Quote(app.get_name()), " word\n",
      "  if [[ $current == = ]]; then current=; elif [[ $before == = ]]; then "
      "before=${COMP_WORDS[COMP_CWORD-2]}; fi\n",
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$command $word\" in\n", commands,
      "      *) ;;\n    esac\n  done\n  COMPREPLY=()\n  case \"$command $before\" in\n", values,
      "    *) ;;\n  esac\n  case \"$command\" in\n", words, "  esac\n}\n", "complete -o default -F ", function, " ",
      app.get_name(), "\n");
}

std::string ManPage(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string page = absl::StrCat(".TH ", absl::AsciiStrToUpper(Roff(name)), " 1 \"\" \"blink ", ProgramVersion(),
                                  "\" \"User Commands\"\n");
  const std::string what = app.get_description();
  absl::StrAppend(&page, ".SH NAME\n", Roff(name), " \\- ", Roff(what.substr(0, what.find_first_of(".:"))), "\n");
  const bool has_commands = !CommandsOf(app).empty();
  absl::StrAppend(&page, ".SH SYNOPSIS\n.B ", Roff(name), "\n", has_commands ? "\\fICOMMAND\\fR " : "",
                  "[\\fIOPTIONS\\fR]\n", ".SH DESCRIPTION\n", Roff(what), "\n.SH OPTIONS\n", OptionEntries(app));
  if (has_commands) absl::StrAppend(&page, ".SH COMMANDS\n");
  for (const NamedCommand& command : AllCommands(app)) {
    if (command.app == &app) continue;
    absl::StrAppend(&page, ".SS ", Roff(command.path), "\n", Roff(command.app->get_description()), "\n",
                    OptionEntries(*command.app), Verbatim(ExamplesOf(*command.app)));
  }
  if (!app.get_footer().empty()) absl::StrAppend(&page, ".SH EXAMPLES AND EXIT STATUS\n", Verbatim(app.get_footer()));
  return page;
}

}  // namespace blink
