// What the first lines of a text table tell: the separator, the columns, the header (table_header.h), and what a
// comment is (table_comments.h).
#ifndef BLINK_COMMON_GRAPH_TABLE_LAYOUT_H_
#define BLINK_COMMON_GRAPH_TABLE_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/graph/table_fields.h"

namespace blink {

// A column that is looked for.
struct TableColumn {
  bool is_id = false;
  std::vector<absl::string_view> names;           // what headers call it, in lower case, the best first
  bool (*is_value)(absl::string_view) = nullptr;  // what a header does not look like, in a column without ids
};

struct TableForm {
  const char* row = "";   // what a line holds, for messages: "two ids"
  const char* flag = "";  // that chooses the columns: "--columns"
  std::vector<TableColumn> columns;
  bool takes_the_rest = false;                         // all other columns too, after the ones that are named
  bool (*rest_is_value)(absl::string_view) = nullptr;  // what a header does not look like, in all other columns
  bool may_begin_with_sizes = false;  // a first row of integers may hold counts, and so have another length
  // That the first row is one, to be said where its fields are known names of columns and ids of other rows too. Empty:
  // they are taken for names then.
  const char* first_row_flag = "";
  bool first_row_is_row = false;  // it was said
};

struct TableOptions {
  std::vector<std::string> columns;  // names of the header, numbers from 1, ranges "2-9"; empty: found by the header
  std::string comment = "auto";      // or "none", or the character that a comment begins with
  bool names = false;                // ids are names, even where they look like integers
};

struct SampleLine {
  uint64_t number = 0;
  absl::string_view text;
};

struct TableLayout {
  char separator = ',';
  std::vector<size_t> columns;               // the chosen ones
  size_t fields = 0;                         // of a row
  bool exact = true;                         // a row has as many, not more
  bool has_integers = false;                 // the ids of the first row are integers
  std::vector<uint64_t> comments;            // lines before the first row
  uint64_t header_line = 0, sizes_line = 0;  // 0: none
  uint64_t first_row_line = 0;
  std::string header;
  std::vector<std::string> unused;  // columns: names, or numbers from 1
  // The integers of a first row that is shorter or longer than the others, which is no row then.
  std::vector<int64_t> sizes;
};

// `lines` are the first ones that are not blank. Returns INVALID_ARGUMENT, naming the flag, when it is not clear which
// columns are meant, or whether a line is a comment.
absl::StatusOr<TableLayout> FindLayout(const std::string& name, const std::vector<SampleLine>& lines,
                                       const TableForm& form, const TableOptions& options);

// The layout without its columns, for callers that look at the header first.
std::vector<std::string> FirstFields(const std::vector<SampleLine>& lines, const TableOptions& options);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_TABLE_LAYOUT_H_
