// The one message for a text that is not an address, HOST:PORT or [V6]:PORT.
#ifndef BLINK_COMMON_BASE_ADDRESS_H_
#define BLINK_COMMON_BASE_ADDRESS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace blink {

// INVALID_ARGUMENT "'<text>' is not HOST:PORT<rule>". `rule` is what else the caller asks for, such as " with a port of
// 1 to 65535".
inline absl::Status NotAnAddress(absl::string_view text, absl::string_view rule = "") {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not HOST:PORT", rule));
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_ADDRESS_H_
