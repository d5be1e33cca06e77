// Lists of names in messages.
#ifndef BLINK_COMMON_BASE_LIST_TEXT_H_
#define BLINK_COMMON_BASE_LIST_TEXT_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace blink {

// "one, two and 3 more": whole items, the first ones, as long as they fit into about `bytes_max`.
template <class Items>
std::string ListText(const Items& items, size_t bytes_max) {
  std::string text;
  size_t shown = 0, count = 0;
  for (const auto& item : items) {
    if (count++ > shown) continue;
    if (shown > 0 && text.size() + 2 + item.size() > bytes_max) continue;
    absl::StrAppend(&text, shown > 0 ? ", " : "", item);
    ++shown;
  }
  if (count > shown) absl::StrAppend(&text, " and ", count - shown, " more");
  return text;
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_LIST_TEXT_H_
