// What a program's `doctor` found: one finding for each thing that it looked at.
//
//   Diagnosis diagnosis;
//   diagnosis.Judge("port", "127.0.0.1:7443", listening, "nobody listens there");
//   diagnosis.Warn("key", path, "every user may read it", absl::StrCat("chmod 600 ", path));
//   fputs(diagnosis.ToText(...)); return diagnosis.exit_code();
//
// An error is what a start would refuse, with the same words, or what will hurt without a doubt later. A warning may
// hurt later. Nothing private is in a finding: no list, no key, no password, and nothing computed from them.
#ifndef BLINK_COMMON_DOCTOR_DIAGNOSIS_H_
#define BLINK_COMMON_DOCTOR_DIAGNOSIS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/exit_code.h"

namespace blink {

enum class Severity { kOk, kNotLooked, kWarning, kError };

const char* SeverityName(Severity severity);  // "ok", "skipped", "warning", "error"

struct Finding {
  Severity severity = Severity::kOk;
  std::string check;    // one word: "certificate", "port", "disk"
  std::string subject;  // what was looked at: a path, an address
  std::string text;     // what was found
  std::string remedy;   // where there is one that `text` does not say: a command, if possible
  ExitCode code = ExitCode::kOk;
};

class Diagnosis {
 public:
  void Ok(absl::string_view check, absl::string_view subject, absl::string_view text);
  // What could not be looked at, and why.
  void NotLooked(absl::string_view check, absl::string_view subject, absl::string_view why);
  void Warn(absl::string_view check, absl::string_view subject, absl::string_view text, absl::string_view remedy = "");
  void Error(absl::string_view check, absl::string_view subject, absl::string_view text, ExitCode code,
             absl::string_view remedy = "");
  // Of an error, with the exit code that it would end a program with (ExitCodeFor).
  void Error(absl::string_view check, absl::string_view subject, const absl::Status& status,
             absl::string_view remedy = "");
  // Ok with `when_ok`, or Error. Returns status.ok().
  bool Judge(absl::string_view check, absl::string_view subject, const absl::Status& status, absl::string_view when_ok);

  const std::vector<Finding>& findings() const { return findings_; }
  size_t Count(Severity severity) const;
  // kOk without an error; otherwise that of the first one.
  ExitCode exit_code() const;

  // A line for each finding and one with the totals. `columns`: where lines are folded; 0: nowhere.
  std::string ToText(size_t columns) const;
  // One object: program, version, commit, totals, exit_code, findings. It does not hold the command line, which may
  // have a password.
  std::string ToJson(absl::string_view program) const;

 private:
  std::vector<Finding> findings_;
};

}  // namespace blink

#endif  // BLINK_COMMON_DOCTOR_DIAGNOSIS_H_
