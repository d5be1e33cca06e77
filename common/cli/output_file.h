// Where a command puts what it prints: standard output, or the file of --output.
#ifndef BLINK_COMMON_CLI_OUTPUT_FILE_H_
#define BLINK_COMMON_CLI_OUTPUT_FILE_H_

#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "common/base/durable_file.h"

namespace blink {

class OutputFile {
 public:
  void AddTo(CLI::App* command, const char* flag = "--output") {
    command->add_option(flag, path_, "Write the result to this file instead of printing it")
        ->check(CLI::Validator([](std::string& text) { return text.empty() ? "the path is empty" : ""; }, ""));
  }
  // Replaces the file in one step. What standard output refuses is found out at the end (EndProgram).
  absl::Status Print(const std::string& text) const {
    if (!path_.empty()) return WriteFileAtomically(path_, text, 0644);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return absl::OkStatus();
  }

 private:
  std::string path_;
};

}  // namespace blink

#endif  // BLINK_COMMON_CLI_OUTPUT_FILE_H_
