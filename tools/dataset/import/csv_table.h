// A CSV file with a header, in memory: RFC 4180 without line breaks in fields.
#ifndef BLINK_TOOLS_DATASET_IMPORT_CSV_TABLE_H_
#define BLINK_TOOLS_DATASET_IMPORT_CSV_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/dataset/import/node_columns.h"

namespace blink {

// The columns, with one value for each row. Returns INVALID_ARGUMENT, naming the line, for a row that is shorter or
// longer than the header, and for quotation marks that are not closed.
absl::StatusOr<std::vector<NodeColumn>> ReadCsv(absl::string_view text, const std::string& name);

// Takes the column of that name out of the table. "" for what is not there.
NodeColumn TakeColumn(std::vector<NodeColumn>& columns, absl::string_view name);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_CSV_TABLE_H_
