#include "common/graph/table_fields.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace blink {

using absl::string_view;

bool ParseInteger(string_view text, int64_t* value) {
  const bool negative = !text.empty() && text[0] == '-';
  const string_view digits = text.substr(negative);
  if (digits.empty() || digits.size() > 18 || (digits[0] == '0' && (digits.size() > 1 || negative))) {
    // Long ones are rare: the library knows where int64 ends.
    return digits.size() == 19 && digits[0] != '0' && absl::ascii_isdigit(digits[0]) && absl::SimpleAtoi(text, value) &&
           absl::StrCat(*value) == text;
  }
  int64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    number = 10 * number + (c - '0');
  }
  *value = negative ? -number : number;
  return true;
}

const char* FieldSplitter::Split(string_view line, char separator, std::vector<string_view>* fields) {
  fields->clear();
  if (!unescaped_.empty()) unescaped_.clear();
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  const auto ends = [&](char c) { return separator == ' ' ? is_blank(c) : c == separator; };
  for (size_t at = 0;;) {
    while (at < line.size() && is_blank(line[at]) && line[at] != (separator == ' ' ? '\n' : separator)) ++at;
    if (at == line.size() && separator == ' ') return nullptr;  // white space at the end
    if (at < line.size() && line[at] == '"') {
      size_t close = line.find('"', at + 1);
      bool escaped = false;
      while (close != string_view::npos && close + 1 < line.size() && line[close + 1] == '"') {
        escaped = true;
        close = line.find('"', close + 2);
      }
      if (close == string_view::npos) return "a quotation mark is not closed on this line; close it, or double it";
      string_view field = line.substr(at + 1, close - at - 1);
      if (escaped) {
        std::string text;
        for (size_t k = 0; k < field.size(); ++k) {
          text.push_back(field[k]);
          k += field[k] == '"';
        }
        field = unescaped_.emplace_back(std::move(text));
      }
      fields->push_back(field);
      at = close + 1;
      while (at < line.size() && is_blank(line[at]) && !ends(line[at])) ++at;
      if (at < line.size() && !ends(line[at])) return "text follows a quotation mark that closes; double the mark";
    } else {
      size_t end = at;
      while (end < line.size() && !ends(line[end])) ++end;
      size_t last = end;
      while (last > at && is_blank(line[last - 1])) --last;
      fields->push_back(line.substr(at, last - at));
      at = end;
    }
    if (at >= line.size()) return nullptr;
    ++at;
    if (at == line.size() && separator != ' ') {
      fields->push_back(string_view());
      return nullptr;
    }
  }
}

}  // namespace blink
