#include "common/cli/terminal.h"

#include <locale.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace blink {
namespace {

constexpr size_t kColumnsUnknown = 80;

// The C library's table of characters, whatever the user's locale is.
class Utf8Locale {
 public:
  Utf8Locale() : before_(::uselocale(Utf8())) {}
  ~Utf8Locale() { ::uselocale(before_); }

 private:
  static locale_t Utf8() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8 != nullptr ? utf8 : LC_GLOBAL_LOCALE;
  }
  const locale_t before_;
};

struct Character {
  size_t bytes = 1;
  std::optional<size_t> columns;  // absent: no terminal shows it
};

// The first one of `text`, which is not empty. Call it under Utf8Locale.
Character FirstCharacter(absl::string_view text) {
  mbstate_t state{};
  wchar_t wide = 0;
  const size_t bytes = ::mbrtowc(&wide, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {};  // a zero byte, or no UTF-8
  const int columns = ::wcwidth(wide);
  return {bytes, columns >= 0 ? std::optional<size_t>(columns) : std::nullopt};
}

}  // namespace

size_t TerminalColumns(int fd) {
  size_t columns = 0;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  const char* const variable = std::getenv("COLUMNS");
  uint32_t said = 0;
  if (variable != nullptr && absl::SimpleAtoi(variable, &said) && said > 0) {
    columns = columns == 0 ? said : std::min<size_t>(columns, said);
  }
  return columns == 0 ? kColumnsUnknown : columns;
}

size_t DisplayColumns(absl::string_view text) {
  const Utf8Locale utf8;
  size_t columns = 0;
  while (!text.empty()) {
    const Character first = FirstCharacter(text);
    columns += first.columns.value_or(1);
    text.remove_prefix(first.bytes);
  }
  return columns;
}

std::string CutToColumns(absl::string_view text, size_t columns) {
  constexpr absl::string_view kCut = "...";
  const bool fits = DisplayColumns(text) <= columns;
  const bool says_so = !fits && columns > 2 * kCut.size();
  const size_t room = says_so ? columns - kCut.size() : columns;
  const Utf8Locale utf8;
  std::string cut;
  size_t used = 0;
  while (!text.empty()) {
    const Character first = FirstCharacter(text);
    used += first.columns.value_or(1);
    if (used > room) break;
    cut += first.columns ? std::string(text.substr(0, first.bytes)) : "?";
    text.remove_prefix(first.bytes);
  }
  return says_so ? cut + std::string(kCut) : cut;
}

std::string ShownText(absl::string_view text) {
  const Utf8Locale utf8;
  std::string shown;
  while (!text.empty()) {
    const Character first = FirstCharacter(text);
    shown += first.columns || text[0] == '\n' || text[0] == '\t' ? std::string(text.substr(0, first.bytes)) : "?";
    text.remove_prefix(first.bytes);
  }
  return shown;
}

std::string FoldToColumns(absl::string_view text, size_t columns, size_t indent) {
  std::string folded;
  size_t used = 0;
  while (!text.empty()) {
    const size_t word = std::min(text.find_first_not_of(' '), text.size());  // behind the blanks before it
    const absl::string_view piece = text.substr(0, text.find(' ', word));
    const size_t wide = DisplayColumns(piece);
    if (used > 0 && used + wide > columns && word < text.size()) {
      absl::StrAppend(&folded, "\n", std::string(indent, ' '), piece.substr(word));
      used = indent + wide - word;
    } else {
      absl::StrAppend(&folded, piece);
      used += wide;
    }
    text.remove_prefix(piece.size());
  }
  return folded;
}

}  // namespace blink
