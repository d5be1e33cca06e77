// Which lines of a text table are comments: those that begin with a mark, '#' or '%', unless they are rows.
#ifndef BLINK_COMMON_GRAPH_TABLE_COMMENTS_H_
#define BLINK_COMMON_GRAPH_TABLE_COMMENTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/graph/table_layout.h"

namespace blink {

// What TableOptions::comment may be, beside a character.
inline constexpr char kAutoComment[] = "auto";
inline constexpr char kNoComment[] = "none";

// INVALID_ARGUMENT unless it is one of the three that TableOptions lists.
absl::Status CheckComment(const std::string& comment);

bool BeginsWithMark(absl::string_view text);
absl::string_view WithoutMarks(absl::string_view text);
// "#tag" may be an id. "# text" and "##" are comments.
bool MayBeMarkedId(absl::string_view text);
// No value begins with a mark, so only an id can.
inline bool HasIds(const TableForm& form) { return !form.columns.empty(); }

// INVALID_ARGUMENT: the line begins with a mark and may be either.
absl::Status CommentOrRowError(const std::string& name, const SampleLine& line);

// Whether a line after the first row is a comment. "auto" takes a line for one when its first character is a mark and
// it cannot be a row: ids are integers, or it has another number of fields and comments stand before the first row.
// Returns INVALID_ARGUMENT when it may be both.
absl::StatusOr<bool> IsComment(const SampleLine& line, const std::string& name, const TableForm& form,
                               const TableOptions& options, const TableLayout& layout, FieldSplitter& splitter);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_TABLE_COMMENTS_H_
