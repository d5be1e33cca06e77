// The number of a file's format, which stands at the file's beginning, and the refusal of a file whose number this
// program does not read. docs/VERSIONS.md says when a number grows.
//
//   if (bytes != kMagic) {  // "BLINKJ2\n"
//     BLINK_RETURN_IF_ERROR(RefuseOtherFormat(path, bytes, "BLINKJ", 2));
//     return absl::DataLossError(...);  // no format at all, or number 2, spelt as no program writes it
//   }
#ifndef BLINK_COMMON_BASE_FORMAT_NUMBER_H_
#define BLINK_COMMON_BASE_FORMAT_NUMBER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace blink {

// The decimal number behind `name` at the beginning of `bytes`, up to a line feed or the end. Nothing when `bytes` does
// not begin with `name`, or when something else than one to nine digits follows.
std::optional<uint32_t> FormatNumber(absl::string_view bytes, absl::string_view name);

// FAILED_PRECONDITION, naming the file, both numbers and the remedy. The caller has changed nothing.
absl::Status OtherFormat(absl::string_view file, uint64_t found, uint64_t known);

// OtherFormat, when `bytes` begin with `name` and another number than `known`; OK otherwise.
absl::Status RefuseOtherFormat(absl::string_view file, absl::string_view bytes, absl::string_view name, uint32_t known);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_FORMAT_NUMBER_H_
