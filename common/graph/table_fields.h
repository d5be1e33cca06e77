// The fields of a line of text.
#ifndef BLINK_COMMON_GRAPH_TABLE_FIELDS_H_
#define BLINK_COMMON_GRAPH_TABLE_FIELDS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace blink {

// An integer in its one canonical spelling: "07" and "+7" are names, since "7" would be another one.
bool ParseInteger(absl::string_view text, int64_t* value);

// The same, or a decimal of that value: "7.0" or "7.000e+00", as pandas writes integers beside missing ones and
// numpy.savetxt writes all. Up to 2^53, which a double tells apart.
bool ParseIntegerId(absl::string_view text, int64_t* value);

bool IsIntegerId(absl::string_view text);

// Why `text` is no id and no name of a class: it holds a control character, or is not UTF-8. nullptr where it may be
// one. Two files in different encodings would have two names for one node.
const char* WhyNoName(absl::string_view text);

// Cuts a line into fields. A separator ' ' stands for white space of any length.
class FieldSplitter {
 public:
  // nullptr, or what is wrong with the quotation marks. The fields are valid until the next call.
  const char* Split(absl::string_view line, char separator, std::vector<absl::string_view>* fields);

 private:
  std::deque<std::string> unescaped_;
};

// The fields as text of their own; none where a quotation mark is wrong.
std::vector<std::string> FieldsOf(absl::string_view line, char separator);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_TABLE_FIELDS_H_
