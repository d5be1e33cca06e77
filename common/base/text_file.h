// What people's editors put into the files that they write.
#ifndef BLINK_COMMON_BASE_TEXT_FILE_H_
#define BLINK_COMMON_BASE_TEXT_FILE_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace blink {

// For messages: "<path>: <kUtf16Rule>".
inline constexpr char kUtf16Rule[] = "the text is UTF-16: save the file as UTF-8";

// Whether a text begins with the byte order mark of UTF-16, or as ASCII in UTF-16 does.
inline bool IsUtf16(absl::string_view text) {
  return absl::StartsWith(text, "\xFF\xFE") || absl::StartsWith(text, "\xFE\xFF") ||
         (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'));
}

// Without the byte order mark of UTF-8.
inline absl::string_view WithoutByteOrderMark(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

// Without the "\r" of a line that ends with "\r\n".
inline absl::string_view WithoutCarriageReturn(absl::string_view line) {
  absl::ConsumeSuffix(&line, "\r");
  return line;
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_TEXT_FILE_H_
