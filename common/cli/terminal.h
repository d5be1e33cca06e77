// The terminal behind standard error, and text that is to fit into a line of it.
#ifndef BLINK_COMMON_CLI_TERMINAL_H_
#define BLINK_COMMON_CLI_TERMINAL_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace blink {

// The columns of the terminal behind `fd` at this moment: it may be resized at any time. COLUMNS counts where it is
// smaller, or where the terminal does not tell. 80 where nobody tells.
size_t TerminalColumns(int fd);

// How many columns `text` (UTF-8) takes: a Chinese character takes two, an accent that follows its letter none. What no
// terminal shows (control characters, bytes that are no UTF-8) counts as one.
size_t DisplayColumns(absl::string_view text);

// `text` if it fits into `columns`; otherwise as much of it as does, with "..." at its end where there is room for
// that. What no terminal shows becomes '?', so nothing in it can move the cursor.
std::string CutToColumns(absl::string_view text, size_t columns);

// `text`, in which '?' stands for what no terminal shows, but ends of lines and tabs stay: for a message that quotes a
// file.
std::string ShownText(absl::string_view text);

// `text`, whose words are separated by blanks, in lines of at most `columns`, or of one word where that is longer. All
// lines but the first begin with `indent` blanks. No end of line follows the last.
std::string FoldToColumns(absl::string_view text, size_t columns, size_t indent);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_TERMINAL_H_
