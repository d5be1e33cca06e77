#include "common/graph/table_header.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace blink {
namespace {

template <typename Range, typename Value>
bool Contains(const Range& range, const Value& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

bool IsNameOf(const TableColumn& column, const std::string& word) {
  return Contains(column.names, absl::string_view(absl::AsciiStrToLower(word)));
}

// The fields of the form's columns.
std::vector<std::string> FieldsOfForm(const SampleRows& sample) {
  std::vector<std::string> fields;
  for (size_t k = 0; k < sample.form.columns.size(); ++k) {
    fields.push_back(sample.columns[k] < sample.first.size() ? sample.first[sample.columns[k]] : "");
  }
  return fields;
}

bool BeginsWithNameOfIds(const SampleRows& sample) {
  const TableColumn& column = sample.form.columns[0];
  return column.is_id && sample.columns[0] < sample.first.size() && IsNameOf(column, sample.first[sample.columns[0]]);
}

bool RestIsValues(const SampleRows& sample, const std::vector<std::string>& fields) {
  const std::vector<size_t>& columns = sample.columns;
  const size_t named = sample.form.columns.size();
  for (size_t k = 0; k < fields.size(); ++k) {
    const size_t at = std::find(columns.begin(), columns.end(), k) - columns.begin();
    const bool wanted = columns.size() > named ? at >= named && at < columns.size() : at == columns.size();
    if (wanted && !sample.form.rest_is_value(fields[k])) return false;
  }
  return true;
}

// Whether the word that stands over `column`, field `at`, is none of its values.
bool IsHeading(const SampleRows& sample, const TableColumn& column, size_t at) {
  const std::string& word = sample.first[at];
  if (IsNameOf(column, word)) return true;
  const auto others = [&](auto is) {
    return std::all_of(sample.rows.begin() + 1, sample.rows.end(), [&](const SampleLine& row) {
      const std::vector<std::string> fields = FieldsOf(row.text, sample.separator);
      return is(at < fields.size() ? &fields[at] : nullptr);
    });
  };
  // "user,mature" before "anna,True": a name for ids, and a word that no row has.
  if (BeginsWithNameOfIds(sample) && others([&](const std::string* field) { return !field || *field != word; })) {
    return true;
  }
  return column.is_value != nullptr && !column.is_value(word) &&
         others([&](const std::string* field) { return field && column.is_value(*field); });
}

}  // namespace

std::optional<std::vector<size_t>> FindColumnsByName(const TableForm& form, const std::vector<std::string>& fields) {
  std::vector<size_t> found;
  for (const TableColumn& column : form.columns) {
    const size_t before = found.size();
    for (const absl::string_view wanted : column.names) {
      for (size_t k = 0; k < fields.size() && found.size() == before; ++k) {
        if (!Contains(found, k) && absl::AsciiStrToLower(fields[k]) == wanted) found.push_back(k);
      }
    }
    if (found.size() == before) return std::nullopt;
  }
  if (found.empty()) return std::nullopt;
  return found;
}

std::vector<std::string> SampleRows::IdsOf(const std::vector<std::string>& fields) const {
  std::vector<std::string> ids;
  for (size_t k = 0; k < form.columns.size(); ++k) {
    if (form.columns[k].is_id && columns[k] < fields.size()) ids.push_back(fields[columns[k]]);
  }
  return ids;
}

bool SampleRows::HasIntegers(const SampleLine& row) const {
  const std::vector<std::string> ids = IdsOf(row);
  return std::all_of(ids.begin(), ids.end(), IsIntegerId);
}

bool SampleRows::LooksLikeHeader() const {
  if (rows.size() < 2) return false;
  if (form.takes_the_rest) {
    return !RestIsValues(*this, first) && RestIsValues(*this, FieldsOf(rows[1].text, separator));
  }
  const std::vector<std::string> ids = IdsOf(first);
  if (std::any_of(ids.begin(), ids.end(), IsIntegerId)) return false;
  if (FindColumnsByName(form, FieldsOfForm(*this))) return true;
  if (std::all_of(rows.begin() + 1, rows.end(), [&](const SampleLine& row) { return HasIntegers(row); })) return true;
  for (size_t k = 0; k < form.columns.size(); ++k) {
    const bool has_values = !form.columns[k].is_id && columns[k] < first.size();
    if (has_values && IsHeading(*this, form.columns[k], columns[k])) return true;
  }
  return false;
}

bool SampleRows::HasIdsOfOtherRows(const std::vector<std::string>& words) const {
  return std::any_of(rows.begin() + 1, rows.end(), [&](const SampleLine& row) {
    const std::vector<std::string> ids = IdsOf(row);
    return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return Contains(words, id); });
  });
}

}  // namespace blink
