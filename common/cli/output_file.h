// Where a command puts what it prints: standard output, or the file of --output.
#ifndef BLINK_COMMON_CLI_OUTPUT_FILE_H_
#define BLINK_COMMON_CLI_OUTPUT_FILE_H_

#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"

namespace blink {

class OutputFile {
 public:
  void AddTo(CLI::App* command, const char* flag = "--output") {
    command->add_option(flag, path_, "Write the result to this file instead of printing it")
        ->check(CLI::Validator([](std::string& text) { return text.empty() ? "the path is empty" : ""; }, ""));
  }
  // Why the file cannot be written. For a command that takes long: call it first.
  absl::Status Check() const { return path_.empty() ? absl::OkStatus() : CheckCanWriteFile(path_); }

  // Replaces the file in one step. Where that fails, the text goes to standard output, so that the work is not lost,
  // and the status says so. What standard output refuses is found out at the end (EndProgram).
  absl::Status Print(const std::string& text) const {
    std::fflush(stdout);  // the file may be standard output by another name
    const absl::Status written = path_.empty() ? absl::OkStatus() : WriteFileAtomically(path_, text, 0644);
    if (path_.empty() || !written.ok()) std::fwrite(text.data(), 1, text.size(), stdout);
    if (written.ok()) return written;
    return Reworded(written, absl::StrCat(written.message(), "; the result is on standard output instead"));
  }

 private:
  std::string path_;
};

}  // namespace blink

#endif  // BLINK_COMMON_CLI_OUTPUT_FILE_H_
