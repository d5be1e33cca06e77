#include "common/base/format_number.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace blink {

std::optional<uint32_t> FormatNumber(absl::string_view bytes, absl::string_view name) {
  if (!absl::ConsumePrefix(&bytes, name)) return std::nullopt;
  const absl::string_view digits = bytes.substr(0, bytes.find('\n'));
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  uint32_t number = 0;
  for (const char c : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    number = 10 * number + static_cast<uint32_t>(c - '0');
  }
  return number;
}

absl::Status OtherFormat(absl::string_view file, uint64_t found, uint64_t known) {
  return absl::FailedPreconditionError(absl::StrCat(file, " has format ", found, ", and this program reads format ",
                                                    known, ": use the version of blink that wrote it. Nothing in it ",
                                                    "was changed"));
}

absl::Status RefuseOtherFormat(absl::string_view file, absl::string_view bytes, absl::string_view name,
                               uint32_t known) {
  const std::optional<uint32_t> found = FormatNumber(bytes, name);
  return found && *found != known ? OtherFormat(file, *found, known) : absl::OkStatus();
}

}  // namespace blink
