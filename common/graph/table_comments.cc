#include "common/graph/table_comments.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace blink {
namespace {

bool IsMark(char c) { return c == '#' || c == '%'; }

}  // namespace

absl::Status CheckComment(const std::string& comment) {
  if (comment == kAutoComment || comment == kNoComment) return absl::OkStatus();
  if (comment.size() == 1 && absl::ascii_ispunct(comment[0]) && comment[0] != '"') return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--comment is \"", comment,
                   "\": it must be the character that comments begin with, such as #, or auto, or none"));
}

bool BeginsWithMark(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  return !text.empty() && IsMark(text[0]);
}

absl::string_view WithoutMarks(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  while (!text.empty() && IsMark(text[0])) text.remove_prefix(1);
  return absl::StripLeadingAsciiWhitespace(text);
}

bool MayBeMarkedId(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  return text.size() >= 2 && IsMark(text[0]) && !IsMark(text[1]) && !absl::ascii_isspace(text[1]);
}

absl::Status CommentOrRowError(const std::string& name, const SampleLine& line) {
  const absl::string_view text = absl::StripAsciiWhitespace(line.text), mark = text.substr(0, 1);
  return absl::InvalidArgumentError(absl::StrCat(
      name, ", line ", line.number, ": \"", text.substr(0, 60), "\" may be a comment or a row: say --comment '", mark,
      "' if it is a comment, or --comment none --names if ids begin with ", mark));
}

absl::StatusOr<bool> IsComment(const SampleLine& line, const std::string& name, const TableForm& form,
                               const TableOptions& options, const TableLayout& layout, FieldSplitter& splitter) {
  if (options.comment == kNoComment) return false;
  if (options.comment != kAutoComment) return line.text[0] == options.comment[0];
  if (!BeginsWithMark(line.text)) return false;
  if (!HasIds(form)) return true;
  std::vector<absl::string_view> fields;
  const bool fits = splitter.Split(line.text, layout.separator, &fields) == nullptr &&
                    (layout.exact ? fields.size() == layout.fields : fields.size() >= layout.fields);
  if (!layout.has_integers) return !fits && !layout.comments.empty();
  if (fits && MayBeMarkedId(line.text) && IsIntegerId(WithoutMarks(fields[layout.columns[0]]))) {
    return CommentOrRowError(name, line);
  }
  return true;
}

}  // namespace blink
