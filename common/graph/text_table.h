// Rows of text as people have them: separated by tabs, semicolons, commas, bars or white space; with or without
// quotation marks (RFC 4180), a header, comments and further columns; lines end with LF or CRLF; plain or gzip; a file
// or a pipe.
// Links, labels, splits, ids and features of `blink dataset convert` are all read with this.
//
//   BLINK_ASSIGN_OR_RETURN(auto table, TextTable::Open(path, options, WantedContent::kLinks));
//   BLINK_RETURN_IF_ERROR(table->Choose(form));
//   while (table->Next()) Use(table->fields()[0], table->fields()[1]);
//   BLINK_RETURN_IF_ERROR(table->status());
//
// The first lines decide what separates the columns, whether there is a header, and what a comment is (table_layout.h).
// A later line that does not fit is refused, never skipped.
#ifndef BLINK_COMMON_GRAPH_TEXT_TABLE_H_
#define BLINK_COMMON_GRAPH_TEXT_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/graph/file_format.h"
#include "common/graph/input.h"
#include "common/graph/table_layout.h"

namespace blink {

// What was met beside the rows.
struct TableReport {
  std::string name;    // of the file
  uint64_t lines = 0;  // all of them
  uint64_t comments = 0, blank = 0;
  uint64_t first_comment_line = 0;
  std::string first_comment;
  uint64_t header_line = 0;  // 0 without one
  std::string header;
  std::vector<std::string> unused;  // columns: names, or numbers from 1
};

class TextTable {
 public:
  // Returns INVALID_ARGUMENT when the input is no text, naming what it is instead.
  static absl::StatusOr<std::unique_ptr<TextTable>> Open(const std::string& path, const TableOptions& options,
                                                         WantedContent wanted);
  // The same for an input that is open.
  static absl::StatusOr<std::unique_ptr<TextTable>> Begin(std::unique_ptr<Input> input, const TableOptions& options,
                                                          WantedContent wanted);

  // The fields of the first line that is no comment. It may be a header.
  std::vector<std::string> FirstRow() const { return FirstFields(sample_, options_); }
  // Finds the columns. To be called once, before Next. Returns what FindLayout returns.
  absl::Status Choose(TableForm form);

  // Moves to the next row. False at the end and after an error.
  bool Next();
  const absl::Status& status() const { return status_; }
  // The chosen columns of the row. No id is empty. Valid until Next.
  absl::Span<const absl::string_view> fields() const { return chosen_; }
  uint64_t line() const { return report_.lines; }
  // INVALID_ARGUMENT that names the file and the line.
  absl::Status ErrorAt(uint64_t line, absl::string_view what) const;
  absl::Status Error(absl::string_view what) const { return ErrorAt(line(), what); }

  const TableLayout& layout() const { return layout_; }
  const TableReport& report() const { return report_; }

 private:
  TextTable(std::unique_ptr<Input> input, TableOptions options);
  absl::Status ReadSample(WantedContent wanted);
  absl::Status Fill();
  bool NextLine(absl::string_view* text);
  absl::StatusOr<bool> IsSkipped(absl::string_view text);
  absl::Status Pick(absl::string_view text);

  std::unique_ptr<Input> input_;
  const TableOptions options_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;      // of what is not used yet in buffer_
  bool at_end_ = false;             // of the input
  std::vector<SampleLine> sample_;  // points into buffer_, until the first Next
  TableForm form_;
  TableLayout layout_;
  size_t comments_left_ = 0;  // of layout_.comments
  FieldSplitter splitter_;
  std::vector<absl::string_view> fields_, chosen_;
  absl::Status status_;
  TableReport report_;
};

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_TEXT_TABLE_H_
