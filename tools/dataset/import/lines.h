// The lines of a text that is in memory, with their numbers for messages.
#ifndef BLINK_TOOLS_DATASET_IMPORT_LINES_H_
#define BLINK_TOOLS_DATASET_IMPORT_LINES_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace blink {

class Lines {
 public:
  Lines(absl::string_view text, const std::string& name) : rest_(text), name_(name) {
    absl::ConsumePrefix(&rest_, "\xEF\xBB\xBF");
  }

  // Moves to the next line. False at the end.
  bool Next() {
    if (rest_.empty()) return false;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = absl::StripSuffix(rest_.substr(0, end), "\r");
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  absl::string_view line() const { return line_; }
  uint64_t number() const { return number_; }  // from 1

  // INVALID_ARGUMENT that names the file and the line.
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, ", line ", number_, ": ", what));
  }

 private:
  absl::string_view rest_, line_;
  const std::string& name_;
  uint64_t number_ = 0;
};

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_LINES_H_
