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

// Cuts a line into fields. A separator ' ' stands for white space of any length.
class FieldSplitter {
 public:
  // nullptr, or what is wrong with the quotation marks. The fields are valid until the next call.
  const char* Split(absl::string_view line, char separator, std::vector<absl::string_view>* fields);

 private:
  std::deque<std::string> unescaped_;
};

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_TABLE_FIELDS_H_
