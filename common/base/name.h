// The names that stand in identities, files and messages: of deployments, operators and kits.
#ifndef BLINK_COMMON_BASE_NAME_H_
#define BLINK_COMMON_BASE_NAME_H_

#include <algorithm>

#include "absl/strings/string_view.h"
#include "common/base/limits.h"

namespace blink {

// For messages: "<what> must be <kNameRule>".
inline constexpr char kNameRule[] = "1 to 64 characters of a-z, 0-9 and -";
static_assert(kNameCharactersMax == 64);

inline bool IsName(absl::string_view text) {
  return !text.empty() && text.size() <= kNameCharactersMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_NAME_H_
