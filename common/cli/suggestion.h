// What somebody may have meant who mistyped a name.
#ifndef BLINK_COMMON_CLI_SUGGESTION_H_
#define BLINK_COMMON_CLI_SUGGESTION_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"

namespace blink {

// The name that takes the fewest changes of `typed`: a letter more, less or other, or two letters swapped; or a name
// that `typed` begins. Capitals are no difference. Empty when none is near.
std::string FindNearest(absl::string_view typed, const std::vector<std::string>& names);

// ": did you mean --dataset?", or nothing when none is near.
std::string Suggest(absl::string_view typed, const std::vector<std::string>& names);

// The same for a file or folder that does not exist, among what lies beside it. Nothing when it exists.
std::string SuggestPath(const std::string& path);

// Another way to write a name.
struct Spelling {
  const char* written;  // in small letters, with -
  const char* name;
};

// For CLI::Option::transform of an option that takes one of some names, in capitals or not, with _ or -, or in one of
// the other `spellings`. What it holds is the name as it is here. (CLI::Option::check would leave it as it was typed.)
CLI::Validator OneOf(std::vector<std::string> names, std::vector<Spelling> spellings = {});

}  // namespace blink

#endif  // BLINK_COMMON_CLI_SUGGESTION_H_
