#include "common/graph/table_fields.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace blink {

using absl::string_view;

namespace {

// The bytes of the first character of `text`, which is not empty; 0 where it is not UTF-8 (RFC 3629, section 4).
size_t BytesOfCharacter(string_view text) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  // No longer spelling than needed, no surrogate, nothing above U+10FFFF.
  const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t k = 2; k < bytes; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  return bytes;
}

}  // namespace

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

bool ParseIntegerId(string_view text, int64_t* value) {
  if (ParseInteger(text, value)) return true;
  constexpr double kExactMax = 9007199254740992;
  const size_t first = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t point = text.find('.');
  if (point == string_view::npos || !absl::ascii_isdigit(text[first]) ||
      text.find_first_not_of("0123456789.eE+-") != string_view::npos || (text[first] == '0' && point != first + 1)) {
    return false;
  }
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || std::abs(number) > kExactMax || number != std::floor(number)) return false;
  *value = static_cast<int64_t>(number);
  return true;
}

bool IsIntegerId(string_view text) {
  int64_t ignored;
  return ParseIntegerId(text, &ignored);
}

const char* WhyNoName(string_view text) {
  while (!text.empty()) {
    if (absl::ascii_iscntrl(text[0])) return "holds a control character: is this a text file?";
    const size_t bytes = BytesOfCharacter(text);
    if (bytes == 0) return "is not UTF-8: convert the file, as by iconv -f WINDOWS-1252 -t UTF-8 FILE > OTHER";
    text.remove_prefix(bytes);
  }
  return nullptr;
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

std::vector<std::string> FieldsOf(string_view line, char separator) {
  FieldSplitter splitter;
  std::vector<string_view> fields;
  if (splitter.Split(line, separator, &fields) != nullptr) return {};
  return std::vector<std::string>(fields.begin(), fields.end());
}

}  // namespace blink
