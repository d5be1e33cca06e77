#include "common/doctor/diagnosis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/program.h"
#include "common/cli/terminal.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

std::string Padded(absl::string_view text, size_t width) {
  return absl::StrCat(text, std::string(width > text.size() ? width - text.size() : 0, ' '), "  ");
}

std::string Plural(size_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// "3 errors, 1 warning, 12 ok, 2 not looked at"
std::string Totals(const Diagnosis& diagnosis) {
  const size_t left_out = diagnosis.Count(Severity::kNotLooked);
  return absl::StrCat(Plural(diagnosis.Count(Severity::kError), "error"), ", ",
                      Plural(diagnosis.Count(Severity::kWarning), "warning"), ", ", diagnosis.Count(Severity::kOk),
                      " ok", left_out > 0 ? absl::StrCat(", ", left_out, " not looked at") : "");
}

}  // namespace

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNotLooked:
      return "skipped";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

void Diagnosis::Ok(absl::string_view check, absl::string_view subject, absl::string_view text) {
  findings_.push_back({Severity::kOk, std::string(check), std::string(subject), std::string(text), "", ExitCode::kOk});
}

void Diagnosis::NotLooked(absl::string_view check, absl::string_view subject, absl::string_view why) {
  findings_.push_back(
      {Severity::kNotLooked, std::string(check), std::string(subject), std::string(why), "", ExitCode::kOk});
}

void Diagnosis::Warn(absl::string_view check, absl::string_view subject, absl::string_view text,
                     absl::string_view remedy) {
  findings_.push_back({Severity::kWarning, std::string(check), std::string(subject), std::string(text),
                       std::string(remedy), ExitCode::kOk});
}

void Diagnosis::Error(absl::string_view check, absl::string_view subject, absl::string_view text, ExitCode code,
                      absl::string_view remedy) {
  findings_.push_back(
      {Severity::kError, std::string(check), std::string(subject), std::string(text), std::string(remedy), code});
}

void Diagnosis::Error(absl::string_view check, absl::string_view subject, const absl::Status& status,
                      absl::string_view remedy) {
  Error(check, subject, std::string(status.message()), ExitCodeFor(status), remedy);
}

bool Diagnosis::Judge(absl::string_view check, absl::string_view subject, const absl::Status& status,
                      absl::string_view when_ok) {
  if (status.ok()) {
    Ok(check, subject, when_ok);
  } else {
    Error(check, subject, status);
  }
  return status.ok();
}

size_t Diagnosis::Count(Severity severity) const {
  return static_cast<size_t>(std::count_if(findings_.begin(), findings_.end(),
                                           [&](const Finding& finding) { return finding.severity == severity; }));
}

ExitCode Diagnosis::exit_code() const {
  const auto first = std::find_if(findings_.begin(), findings_.end(),
                                  [](const Finding& finding) { return finding.severity == Severity::kError; });
  return first == findings_.end() ? ExitCode::kOk : first->code;
}

std::string Diagnosis::ToText(size_t columns) const {
  size_t check_width = 0;
  for (const Finding& finding : findings_) check_width = std::max(check_width, finding.check.size());
  const size_t severity_width = std::string(SeverityName(Severity::kNotLooked)).size();
  const size_t indent = severity_width + 2 + check_width + 2;
  std::string text;
  const auto add = [&](const std::string& head, const std::string& rest) {
    const std::string line = absl::StrCat(head, ShownText(rest));
    absl::StrAppend(&text, columns > 0 ? FoldToColumns(line, columns, indent) : line, "\n");
  };
  for (const Finding& finding : findings_) {
    // A start's words often begin with the path.
    const bool names_it =
        finding.subject.empty() || absl::string_view(finding.text).find(finding.subject) != absl::string_view::npos;
    add(absl::StrCat(Padded(SeverityName(finding.severity), severity_width), Padded(finding.check, check_width)),
        absl::StrCat(names_it ? "" : absl::StrCat(finding.subject, ": "), finding.text));
    if (!finding.remedy.empty()) add(std::string(indent, ' '), absl::StrCat("remedy: ", finding.remedy));
  }
  return absl::StrCat(text, Totals(*this), "\n");
}

std::string Diagnosis::ToJson(absl::string_view program) const {
  // What a peer or a file says may be no UTF-8.
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : findings_) {
    nlohmann::ordered_json object = {{"severity", SeverityName(finding.severity)},
                                     {"check", finding.check},
                                     {"subject", finding.subject},
                                     {"text", finding.text}};
    if (!finding.remedy.empty()) object["remedy"] = finding.remedy;
    if (finding.severity == Severity::kError) object["exit_code"] = static_cast<int>(finding.code);
    findings.push_back(std::move(object));
  }
  const nlohmann::ordered_json json = {{"program", std::string(program)},
                                       {"version", ProgramVersion()},
                                       {"commit", ProgramCommit()},
                                       {"errors", Count(Severity::kError)},
                                       {"warnings", Count(Severity::kWarning)},
                                       {"exit_code", static_cast<int>(exit_code())},
                                       {"findings", std::move(findings)}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace blink
