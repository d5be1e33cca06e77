#include "tools/dataset/import/csv_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/graph/table_fields.h"
#include "tools/dataset/import/lines.h"

namespace blink {

absl::StatusOr<std::vector<NodeColumn>> ReadCsv(absl::string_view text, const std::string& name) {
  std::vector<NodeColumn> columns;
  Lines lines(text, name);
  FieldSplitter splitter;
  std::vector<absl::string_view> fields;
  char separator = ',';
  while (lines.Next()) {
    if (lines.line().empty()) continue;
    if (columns.empty() && absl::StrContains(lines.line(), '\t')) separator = '\t';
    if (const char* wrong = splitter.Split(lines.line(), separator, &fields); wrong != nullptr)
      return lines.Error(wrong);
    if (columns.empty()) {
      for (const absl::string_view field : fields)
        columns.push_back({std::string(absl::StripAsciiWhitespace(field)), {}});
      continue;
    }
    if (fields.size() != columns.size())
      return lines.Error(absl::StrCat("has ", fields.size(), " fields, while the header has ", columns.size()));
    if (columns[0].values.size() >= uint64_t{1'000'000'000}) return lines.Error("more than 1000000000 rows");
    for (size_t c = 0; c < fields.size(); ++c) columns[c].values.emplace_back(absl::StripAsciiWhitespace(fields[c]));
  }
  if (columns.empty() || columns[0].values.empty()) return WrongFile(name, "holds no row below a header");
  return columns;
}

NodeColumn TakeColumn(std::vector<NodeColumn>& columns, absl::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const NodeColumn& column) { return absl::EqualsIgnoreCase(column.name, name); });
  if (found == columns.end()) return {};
  NodeColumn taken = std::move(*found);
  columns.erase(found);
  return taken;
}

}  // namespace blink
