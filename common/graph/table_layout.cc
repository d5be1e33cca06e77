#include "common/graph/table_layout.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/graph/table_comments.h"
#include "common/graph/table_header.h"

namespace blink {
namespace {

using absl::string_view;

constexpr size_t kLinesForSeparator = 200;
constexpr uint32_t kColumnsMax = 10'000'000;

absl::Status ErrorAt(const std::string& name, uint64_t line, string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ", line ", line, ": ", what));
}

size_t CountFields(string_view text, char separator) {
  FieldSplitter splitter;
  std::vector<string_view> fields;
  return splitter.Split(text, separator, &fields) == nullptr ? fields.size() : 0;
}

// The separator that gives all lines the same number of fields; else the first one that the first line has.
char FindSeparator(const std::vector<SampleLine>& lines, size_t columns) {
  const std::string candidates = columns == 1 ? "\t;,|" : "\t;,| ";
  const size_t end = std::min(lines.size(), kLinesForSeparator);
  // The first line may be a header or hold sizes, and so have another number of fields.
  for (const size_t begin : {size_t{0}, size_t{1}}) {
    if (begin == 1 && end < 3) break;
    for (const char separator : candidates) {
      const size_t fields = CountFields(lines[begin].text, separator);
      const auto same = [&](const SampleLine& line) { return CountFields(line.text, separator) == fields; };
      if (fields >= 2 && std::all_of(lines.begin() + begin, lines.begin() + end, same)) return separator;
    }
  }
  for (const char separator : {',', ';', '\t', '|'}) {
    if (columns > 1 && lines[0].text.find(separator) != string_view::npos) return separator;
  }
  return columns == 1 ? ',' : ' ';
}

class LayoutFinder {
 public:
  LayoutFinder(const std::string& name, const std::vector<SampleLine>& lines, const TableForm& form,
               const TableOptions& options)
      : name_(name), form_(form), options_(options), needed_(form.columns.size() + form.takes_the_rest) {
    for (const SampleLine& line : lines) {
      const bool marked = options.comment == kAutoComment
                              ? BeginsWithMark(line.text)
                              : options.comment != kNoComment && line.text[0] == options.comment[0];
      if (!marked) {
        rows_.push_back(line);
      } else if (rows_.empty()) {
        marked_.push_back(line);
      }
    }
  }

  absl::StatusOr<TableLayout> Find() {
    if (rows_.empty() && options_.comment == kAutoComment && HasIds(form_)) TakeMarkedLinesThatMayBeRows();
    if (rows_.empty()) {
      for (const SampleLine& line : marked_) layout_.comments.push_back(line.number);
      return layout_;
    }
    layout_.separator = FindSeparator(rows_, form_.takes_the_rest ? 2 : needed_);
    if (form_.may_begin_with_sizes) SetSizesAside();
    BLINK_RETURN_IF_ERROR(FindColumns());
    BLINK_RETURN_IF_ERROR(SortOutMarkedLines());
    return layout_;
  }

 private:
  void TakeMarkedLinesThatMayBeRows() {
    const auto may_be_row = [](const SampleLine& line) { return MayBeMarkedId(line.text); };
    std::copy_if(marked_.begin(), marked_.end(), std::back_inserter(rows_), may_be_row);
    marked_.erase(std::remove_if(marked_.begin(), marked_.end(), may_be_row), marked_.end());
  }

  // Several collections begin a file with the number of nodes, or of nodes twice, and of links.
  void SetSizesAside() {
    const std::vector<std::string> first = FieldsOf(rows_[0].text, layout_.separator);
    const size_t others = rows_.size() < 2 ? 0 : CountFields(rows_[1].text, layout_.separator);
    const bool differs = options_.columns.empty() ? first.size() != others : first.size() < needed_;
    if (first.size() > 3 || others < needed_ || !differs) return;
    for (const std::string& field : first) {
      if (!ParseInteger(field, &layout_.sizes.emplace_back())) {
        layout_.sizes.clear();
        return;
      }
    }
    layout_.sizes_line = rows_[0].number;
    rows_.erase(rows_.begin());
  }

  absl::Status FindColumns() {
    first_ = FieldsOf(rows_[0].text, layout_.separator);
    layout_.fields = rows_.size() > 1 ? CountFields(rows_[1].text, layout_.separator) : 0;
    if (layout_.fields == 0) layout_.fields = first_.size();  // a mark is not closed there: the row is refused later
    // R's write.table gives the column of row names no name.
    if (first_.size() + 1 == layout_.fields && !std::any_of(first_.begin(), first_.end(), IsIntegerId)) {
      first_.insert(first_.begin(), "");
    }
    bool is_header = false, is_told = false;
    if (!options_.columns.empty()) {
      BLINK_RETURN_IF_ERROR(ChooseAsTold(&is_header));
      is_told = is_header;
    } else if (auto named = FindColumnsByName(form_, first_)) {
      layout_.columns = *std::move(named);
      is_header = true;
    } else {
      BLINK_RETURN_IF_ERROR(ChooseByPlace());
    }
    const SampleRows sample{form_, rows_, layout_.separator, first_, layout_.columns};
    is_header = is_header || sample.LooksLikeHeader();
    const std::vector<std::string> words = sample.IdsOf(first_);
    if (is_header && !is_told && *form_.first_row_flag != '\0' && sample.HasIdsOfOtherRows(words)) {
      if (!form_.first_row_is_row) return HeaderOrRowError(words);
      is_header = false;
      if (options_.columns.empty()) {
        layout_.columns.clear();
        BLINK_RETURN_IF_ERROR(ChooseByPlace());
      }
    }
    if (is_header) {
      layout_.header_line = rows_[0].number;
      layout_.header = absl::StrJoin(first_, ",");
    } else {
      layout_.fields = options_.columns.empty() ? first_.size() : layout_.fields;
    }
    if (form_.takes_the_rest && options_.columns.empty()) TakeTheRest();
    ListUnused(is_header);
    const size_t first_row = is_header ? 1 : 0;
    layout_.first_row_line = rows_[std::min(first_row, rows_.size() - 1)].number;
    layout_.has_integers = !options_.names && first_row < rows_.size() && sample.HasIntegers(rows_[first_row]);
    if (layout_.columns.empty())
      return ErrorAt(name_, rows_[0].number, absl::StrCat("expected ", form_.row, " a line"));
    const size_t needed = *std::max_element(layout_.columns.begin(), layout_.columns.end()) + 1;
    layout_.fields = layout_.exact ? std::max(layout_.fields, needed) : needed;
    return absl::OkStatus();
  }

  absl::Status HeaderOrRowError(const std::vector<std::string>& words) const {
    const std::string names = absl::StrJoin(words, ",");
    return ErrorAt(
        name_, rows_[0].number,
        absl::StrCat("\"", names, "\" may be a header or a row, since other rows have such an id too: say ", form_.flag,
                     " ", names, " if it is a header, or ", form_.first_row_flag, " if it is a row"));
  }

  absl::Status ChooseByPlace() {
    const size_t fields = first_.size();
    const auto refuse = [&](string_view what) {
      return ErrorAt(name_, rows_[0].number, absl::StrCat("expected ", form_.row, " a line, found ", what));
    };
    const std::string first = absl::StrJoin(first_, " | ").substr(0, 80);
    if (fields < needed_) {
      const bool is_of_nodes = *form_.first_row_flag == '\0';
      return refuse(absl::StrCat(fields == 1 ? "one field" : absl::StrCat(fields, " fields"), " (", first,
                                 "): separate the columns by commas, tabs, semicolons, bars or white space",
                                 is_of_nodes ? "; if line k is of node k - 1: awk '{print NR - 1 \",\" $0}' " : "",
                                 is_of_nodes ? absl::StrCat(name_, " > rows.csv") : ""));
    }
    if (fields > needed_ && !form_.takes_the_rest) {
      return refuse(absl::StrCat(fields, " fields (", first,
                                 "): say which columns are meant, by number or by name, as ", form_.flag, " 1",
                                 needed_ > 1 ? ",2" : "", HintOfLists()));
    }
    for (size_t k = 0; k < form_.columns.size(); ++k) layout_.columns.push_back(k);
    return absl::OkStatus();
  }

  // Columns cannot be chosen of an adjacency list: all but a few of its links would be lost.
  std::string HintOfLists() const {
    const bool varies = std::any_of(rows_.begin(), rows_.end(), [&](const SampleLine& line) {
      return CountFields(line.text, layout_.separator) != first_.size();
    });
    if (!varies || layout_.separator != ' ' || *form_.first_row_flag == '\0') return "";
    return absl::StrCat("; if a line is a node and all its neighbours: awk '{for (i = 2; i <= NF; ++i) print $1, $i}' ",
                        name_, " > edges.txt");
  }

  absl::Status ChooseAsTold(bool* is_header) {
    layout_.exact = false;
    std::vector<std::string> header = first_;
    const auto has = [&](const std::string& told) {
      return std::find(header.begin(), header.end(), told) != header.end();
    };
    const auto is_known = [&](const std::string& told) { return IsNumbers(told) || has(told); };
    const auto& given_columns = options_.columns;
    *is_header = !std::all_of(given_columns.begin(), given_columns.end(), IsNumbers);
    if (!marked_.empty() && !std::all_of(given_columns.begin(), given_columns.end(), is_known)) {
      header = FieldsOf(WithoutMarks(marked_.back().text), layout_.separator);  // "# FromNodeId ToNodeId"
      *is_header = false;
    }
    for (const std::string& told : given_columns) {
      if (told == "0") return absl::InvalidArgumentError(absl::StrCat(form_.flag, " counts the columns from 1, not 0"));
      if (IsNumbers(told)) {
        AddNumbers(told);
      } else if (has(told)) {
        layout_.columns.push_back(std::find(header.begin(), header.end(), told) - header.begin());
      } else {
        return ErrorAt(
            name_, rows_[0].number,
            absl::StrCat(form_.flag, " names the column \"", told, "\", but the columns are ",
                         absl::StrJoin(first_, ", ").substr(0, 200), "; name one of them, or give its number"));
      }
    }
    const size_t given = layout_.columns.size(), fields = FieldCount();
    if (given < needed_ || (given > needed_ && !form_.takes_the_rest)) {
      return absl::InvalidArgumentError(absl::StrCat(form_.flag, " names ", given, given == 1 ? " column" : " columns",
                                                     ", but ", form_.row, " a line need ", needed_,
                                                     form_.takes_the_rest ? " or more" : ""));
    }
    for (const size_t column : layout_.columns) {
      if (column < fields) continue;
      return ErrorAt(name_, rows_[0].number,
                     absl::StrCat(form_.flag, " names column ", column + 1, ", but there are ", fields, " fields"));
    }
    std::set<size_t> named;
    for (const size_t column : layout_.columns) {
      if (named.insert(column).second) continue;
      return absl::InvalidArgumentError(absl::StrCat(form_.flag, " names column ", column + 1, " twice"));
    }
    return absl::OkStatus();
  }

  // "3", "2-9" or "2-": to the last one.
  static bool IsNumbers(const std::string& told) {
    const std::vector<string_view> ends = absl::StrSplit(told, absl::MaxSplits('-', 1));
    uint32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends[0], &first) || first == 0 || first > kColumnsMax) return false;
    return ends.size() == 1 || ends[1].empty() || (absl::SimpleAtoi(ends[1], &last) && last >= first);
  }

  void AddNumbers(const std::string& told) {
    const std::vector<string_view> ends = absl::StrSplit(told, absl::MaxSplits('-', 1));
    uint32_t first = 0;
    (void)absl::SimpleAtoi(ends[0], &first);
    uint32_t last = first;
    if (ends.size() == 2 && !absl::SimpleAtoi(ends[1], &last)) last = std::max<uint32_t>(first, FieldCount());
    last = std::min(last, std::max(first, static_cast<uint32_t>(FieldCount()) + 1));
    for (uint32_t k = first; k <= last; ++k) layout_.columns.push_back(k - 1);
  }

  size_t FieldCount() const { return std::max(first_.size(), layout_.fields); }

  void TakeTheRest() {
    const size_t named = layout_.columns.size();
    for (size_t k = 0; k < layout_.fields; ++k) {
      if (std::find(layout_.columns.begin(), layout_.columns.begin() + named, k) == layout_.columns.begin() + named) {
        layout_.columns.push_back(k);
      }
    }
  }

  void ListUnused(bool has_header) {
    constexpr size_t kListedMax = 20;
    for (size_t k = 0; k < first_.size() && layout_.unused.size() < kListedMax; ++k) {
      if (std::find(layout_.columns.begin(), layout_.columns.end(), k) != layout_.columns.end()) continue;
      layout_.unused.push_back(has_header && !first_[k].empty() ? first_[k] : absl::StrCat(k + 1));
    }
  }

  // Marked lines before the first row: a comment, or a row whose id begins with the mark.
  absl::Status SortOutMarkedLines() {
    for (const SampleLine& line : marked_) {
      const std::vector<std::string> fields = FieldsOf(line.text, layout_.separator);
      bool comment = options_.comment != kAutoComment || !HasIds(form_) || layout_.header_line != 0 ||
                     !MayBeMarkedId(line.text) || fields.size() != layout_.fields || !layout_.exact;
      if (!comment && layout_.has_integers) {
        if (IsIntegerId(WithoutMarks(fields[layout_.columns[0]]))) return CommentOrRowError(name_, line);
        comment = true;
      }
      std::vector<std::string> unmarked = fields;
      if (!unmarked.empty()) unmarked[0] = std::string(WithoutMarks(unmarked[0]));
      comment = comment || FindColumnsByName(form_, unmarked).has_value();
      if (comment) {
        layout_.comments.push_back(line.number);
      } else {
        layout_.first_row_line = std::min(layout_.first_row_line, line.number);
      }
    }
    if (!layout_.comments.empty()) layout_.first_row_line = std::max(layout_.first_row_line, layout_.comments.back());
    return absl::OkStatus();
  }

  const std::string& name_;
  const TableForm& form_;
  const TableOptions& options_;
  const size_t needed_;
  std::vector<SampleLine> rows_, marked_;  // marked_: before the first row
  std::vector<std::string> first_;         // the fields of rows_[0]
  TableLayout layout_;
};

}  // namespace

absl::StatusOr<TableLayout> FindLayout(const std::string& name, const std::vector<SampleLine>& lines,
                                       const TableForm& form, const TableOptions& options) {
  return LayoutFinder(name, lines, form, options).Find();
}

std::vector<std::string> FirstFields(const std::vector<SampleLine>& lines, const TableOptions& options) {
  std::vector<SampleLine> rows;
  for (const SampleLine& line : lines) {
    if (options.comment == kNoComment || !BeginsWithMark(line.text)) rows.push_back(line);
  }
  return rows.empty() ? std::vector<std::string>() : FieldsOf(rows[0].text, FindSeparator(rows, 2));
}

}  // namespace blink
