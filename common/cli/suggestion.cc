#include "common/cli/suggestion.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace blink {
namespace {

// Damerau and Levenshtein's, where no part is changed twice.
size_t CountChanges(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> changes(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        changes[i][j] = i + j;
        continue;
      }
      changes[i][j] = std::min(
          {changes[i - 1][j] + 1, changes[i][j - 1] + 1, changes[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        changes[i][j] = std::min(changes[i][j], changes[i - 2][j - 2] + 1);
      }
    }
  }
  return changes[a.size()][b.size()];
}

// Without what makes no difference: capitals, and _ for -.
std::string Plain(absl::string_view name) { return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", "-"}})); }

}  // namespace

std::string FindNearest(absl::string_view typed, const std::vector<std::string>& names) {
  constexpr size_t kLengthMax = 100, kBeginningMin = 3;
  if (typed.empty() || typed.size() > kLengthMax) return "";
  const std::string lower = absl::AsciiStrToLower(typed);
  const size_t letters = lower.size() - std::min(lower.find_first_not_of('-'), lower.size());  // without the dashes
  size_t fewest = std::max<size_t>(1, letters / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& name : names) {
    if (name.size() > kLengthMax) continue;
    const std::string other = absl::AsciiStrToLower(name);
    const bool begins = letters >= kBeginningMin && absl::StartsWith(other, lower);
    const size_t changes = begins ? 1 : CountChanges(lower, other);
    if (changes >= fewest) continue;
    fewest = changes;
    nearest = &name;
  }
  return nearest != nullptr ? *nearest : "";
}

std::string Suggest(absl::string_view typed, const std::vector<std::string>& names) {
  const std::string nearest = FindNearest(typed, names);
  return nearest.empty() || nearest == typed ? "" : absl::StrCat(": did you mean ", nearest, "?");
}

std::string SuggestPath(const std::string& path) {
  constexpr size_t kEntriesMax = 10'000;
  std::error_code error;
  const std::filesystem::path wanted = std::filesystem::path(path + "/").parent_path();
  if (path.empty() || path == "-" || std::filesystem::exists(wanted, error)) return "";  // "-": standard input
  const std::filesystem::path folder = wanted.has_parent_path() ? wanted.parent_path() : ".";
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
    if (names.size() >= kEntriesMax) break;
  }
  std::sort(names.begin(), names.end());  // a folder has no order
  const std::string nearest = FindNearest(wanted.filename().string(), names);
  if (nearest.empty()) return "";
  return absl::StrCat(": did you mean ",
                      (wanted.has_parent_path() ? folder / nearest : std::filesystem::path(nearest)).string(), "?");
}

CLI::Validator OneOf(std::vector<std::string> names, std::vector<Spelling> spellings) {
  const std::string all = absl::StrJoin(names, ",");
  return CLI::Validator(
      [names = std::move(names), spellings = std::move(spellings)](std::string& text) -> std::string {
        const std::string typed = Plain(text);
        for (const std::string& name : names) {
          if (typed != Plain(name)) continue;
          text = name;
          return "";
        }
        for (const Spelling& spelling : spellings) {
          if (typed != spelling.written) continue;
          text = spelling.name;
          return "";
        }
        return absl::StrCat("'", text, "' is none of ", absl::StrJoin(names, ", "), Suggest(text, names));
      },
      absl::StrCat("{", all, "}"));
}

}  // namespace blink
