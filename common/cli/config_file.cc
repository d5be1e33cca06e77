#include "common/cli/config_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/base/text_file.h"

namespace blink {
namespace {

bool IsComment(absl::string_view text) { return absl::StartsWith(text, "#") || absl::StartsWith(text, ";"); }

bool IsKey(absl::string_view text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
}

absl::StatusOr<std::string> ParseQuoted(absl::string_view text) {
  const size_t end = text.find(text.front(), 1);
  if (end == absl::string_view::npos) return absl::InvalidArgumentError("the quote does not end on this line");
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(text.substr(end + 1));
  if (!rest.empty() && !IsComment(rest)) {
    return absl::InvalidArgumentError(
        "there is more behind the value's second quote: a value that holds one kind of quotes stands in the other");
  }
  return std::string(text.substr(1, end - 1));
}

// Spaces that are copied from a page look like any other, or like nothing.
absl::Status CheckSpaces(absl::string_view text) {
  for (const char* space : {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x8B", "\xEF\xBB\xBF"}) {
    if (!absl::StrContains(text, space)) continue;
    return absl::InvalidArgumentError("there is a no-break or zero-width space outside of quotes: type the line anew");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ParseWord(absl::string_view text) {
  BLINK_RETURN_IF_ERROR(CheckSpaces(text.substr(0, text.find_first_of("\"'#;"))));
  if (absl::StartsWith(text, "\xE2\x80")) {
    return absl::InvalidArgumentError("the value is in typographic quotes: use \" or '");
  }
  const std::string word(text.substr(0, text.find_first_of(" \t")));
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(text.substr(word.size()));
  if (word.find_first_of("\"'#;[]{},") != std::string::npos || (!rest.empty() && !IsComment(rest))) {
    return absl::InvalidArgumentError("the value must be in quotes");
  }
  return word;
}

absl::StatusOr<ConfigEntry> ParseEntry(absl::string_view line) {
  if (line.front() == '[') return absl::InvalidArgumentError("there are no sections in this file");
  const size_t equals = line.find('=');
  ConfigEntry entry;
  if (equals != absl::string_view::npos) {
    entry.key = std::string(absl::StripTrailingAsciiWhitespace(line.substr(0, equals)));
  }
  BLINK_RETURN_IF_ERROR(CheckSpaces(line.substr(0, equals)));
  if (!IsKey(entry.key)) return absl::InvalidArgumentError("this is not key=\"value\"");
  const absl::string_view value = absl::StripLeadingAsciiWhitespace(line.substr(equals + 1));
  if (!value.empty() && !IsComment(value)) {
    const bool is_quoted = value.front() == '"' || value.front() == '\'';
    BLINK_ASSIGN_OR_RETURN(entry.value, is_quoted ? ParseQuoted(value) : ParseWord(value));
  }
  if (entry.value.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the value of ", entry.key, " is empty: leave out the line"));
  }
  return entry;
}

}  // namespace

absl::StatusOr<std::vector<ConfigEntry>> ParseConfig(absl::string_view text, absl::string_view path) {
  if (IsUtf16(text)) return absl::InvalidArgumentError(absl::StrCat(path, ": ", kUtf16Rule));
  std::vector<ConfigEntry> entries;
  std::map<std::string, int> lines;  // of the keys
  int number = 0;
  for (absl::string_view line : absl::StrSplit(WithoutByteOrderMark(text), '\n')) {
    ++number;
    const auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", why));
    };
    line = absl::StripAsciiWhitespace(line);
    // or a comment in the first line would be the whole file
    if (absl::StrContains(line, "\r"))
      return refuse("a line ends with CR alone: save the file with ends of line of LF");
    if (line.empty() || IsComment(line)) continue;
    if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return absl::ascii_iscntrl(c) && c != '\t'; })) {
      return refuse("there is a control character in this line");
    }
    absl::StatusOr<ConfigEntry> entry = ParseEntry(line);
    if (!entry.ok()) return refuse(entry.status().message());
    entry->line = number;
    const auto [before, is_new] = lines.emplace(entry->key, number);
    if (!is_new) {
      return refuse(absl::StrCat(entry->key, " is given twice, first in line ", before->second, ": keep one of them"));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

absl::Status CheckReadable(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || ::access(path.c_str(), R_OK) != 0) return FileError(errno, "open", path);
  return S_ISDIR(info.st_mode) ? FileError(EISDIR, "open", path) : absl::OkStatus();
}

absl::StatusOr<std::string> ReadNamedFile(const std::string& path, uint64_t bytes_max) {
  absl::StatusOr<std::string> text = ReadFile(path, bytes_max);
  if (!absl::IsInvalidArgument(text.status())) return text;
  return absl::FailedPreconditionError(text.status().message());
}

}  // namespace blink
