// Text in a field of a CSV file, as RFC 4180 has it.
#ifndef BLINK_COMMON_GRAPH_CSV_FIELD_H_
#define BLINK_COMMON_GRAPH_CSV_FIELD_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace blink {

// `text` in quotation marks where a reader would misunderstand it without them.
inline std::string CsvField(absl::string_view text) {
  const bool plain = !text.empty() && text.find_first_of(",;\"\t\r\n") == absl::string_view::npos &&
                     text.front() != ' ' && text.back() != ' ' && text.front() != '#' && text.front() != '%';
  return plain ? std::string(text) : absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_CSV_FIELD_H_
