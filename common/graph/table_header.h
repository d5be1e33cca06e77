// Whether the first row of a text table is its header.
#ifndef BLINK_COMMON_GRAPH_TABLE_HEADER_H_
#define BLINK_COMMON_GRAPH_TABLE_HEADER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/graph/table_layout.h"

namespace blink {

// The columns that `fields` name, one for each of the form. Nothing where they do not name all.
std::optional<std::vector<size_t>> FindColumnsByName(const TableForm& form, const std::vector<std::string>& fields);

// The first rows of a table, of which the first may be a header, and the columns that were chosen. All of it outlives
// this.
struct SampleRows {
  const TableForm& form;
  const std::vector<SampleLine>& rows;
  char separator;
  const std::vector<std::string>& first;  // the fields of the first row
  const std::vector<size_t>& columns;     // those of the form first, then the rest

  // Those of `fields` that are ids, in the order of the form.
  std::vector<std::string> IdsOf(const std::vector<std::string>& fields) const;
  std::vector<std::string> IdsOf(const SampleLine& row) const { return IdsOf(FieldsOf(row.text, separator)); }
  bool HasIntegers(const SampleLine& row) const;

  // By words that columns have, or by values of other rows where the first has none. For a first row whose names are
  // not known.
  bool LooksLikeHeader() const;
  // Whether one of `words` is an id on another row, so that the first may be a row too: "u,v" before "v,w".
  bool HasIdsOfOtherRows(const std::vector<std::string>& words) const;
};

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_TABLE_HEADER_H_
