#include "tools/audit/report.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/cli/program_json.h"
#include "common/privacy/parameters.h"
#include "tools/audit/findings.h"

namespace blink {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kLists = kAuditedLists;

}  // namespace

void AddBoundsAndChecks(const std::vector<EpsilonBound>& bounds, const std::vector<AuditCheck>& checks, Json& json) {
  json["epsilon_bounds"] = Json::array();
  for (const EpsilonBound& bound : bounds) {
    json["epsilon_bounds"].push_back(
        {{"of", bound.of}, {"lower", bound.lower}, {"promised", bound.promised}, {"violated", bound.violated}});
  }
  json["checks"] = Json::array();
  for (const AuditCheck& check : checks) {
    json["checks"].push_back({{"claim", check.claim},
                              {"tests", check.tests},
                              {"smallest_p", check.smallest_p},
                              {"threshold", check.threshold},
                              {"worst", check.worst},
                              {"violated", check.violated}});
  }
}

const char* VerdictText(bool violated) { return violated ? "VIOLATED" : "ok"; }

std::string BoundsTable(const std::vector<EpsilonBound>& bounds) {
  std::string text = absl::StrFormat("%-48s %12s %12s\n", "epsilon spent on", "at least", "promised");
  for (const EpsilonBound& bound : bounds) {
    absl::StrAppendFormat(&text, "%-48s %12.6f %12.6f  %s\n", bound.of, bound.lower, bound.promised,
                          VerdictText(bound.violated));
  }
  return text;
}

Json MechanismAuditJson(const MechanismAudit& audit) {
  const PrivacyParameters& parameters = audit.parameters;
  Json json = {{"audit", "mechanism"},
               {"format", 1},
               {"program", ProgramJson()},
               {"partial", audit.partial()},
               {"passed", audit.reports_per_list == 0 ? Json(nullptr) : Json(audit.passed())},
               {"epsilon", parameters.epsilon()},
               {"degree_share", parameters.degree_share()},
               {"nodes", parameters.node_count()},
               {"flip_probability", parameters.flip_probability()},
               {"achieved_epsilon", parameters.achieved_epsilon()},
               {"lists", kLists},
               {"reports_per_list", audit.reports_per_list},
               {"reports_asked", audit.reports_asked},
               {"pair_sample_reports", audit.pair_sample},
               {"threads", audit.threads},
               {"seconds", audit.seconds},
               {"false_alarm_probability_max", kFalseAlarmMax}};
  AddBoundsAndChecks(audit.bounds, audit.checks, json);
  Json& power = json["power"] = Json::object();
  if (parameters.sends_bits()) {
    power["flip_rate_change"] = audit.detection_power.flip_rate_change;
    power["one_bit_flip_rate_change"] = audit.detection_power.one_bit_flip_rate_change;
    power["reused_coin_miss_probability"] = audit.detection_power.reused_coin_miss;
    const std::optional<uint64_t>& shared = audit.detection_power.shared_stream_flips;
    power["shared_stream_flips"] = shared.has_value() ? Json(*shared) : Json(nullptr);
  }
  if (parameters.sends_degree()) power["degree_noise_scale_change"] = audit.detection_power.noise_scale_change;
  return json;
}

Json RandomnessAuditJson(const RandomnessAudit& audit) {
  return {{"audit", "randomness"},
          {"format", 1},
          {"program", ProgramJson()},
          {"partial", audit.partial()},
          {"passed", audit.processes == 1 && audit.passed() ? Json(nullptr) : Json(audit.passed())},
          {"processes", audit.processes},
          {"processes_asked", audit.processes_asked},
          {"threads", audit.threads},
          {"draws", audit.draws},
          {"values", audit.values},
          {"collisions", audit.collisions},
          {"examples", audit.examples}};
}

std::string MechanismAuditTable(const MechanismAudit& audit) {
  const PrivacyParameters& parameters = audit.parameters;
  std::string text;
  if (audit.partial()) {
    text = absl::StrFormat("PARTIAL: interrupted after %d of %d reports of each list%s\n", audit.reports_per_list,
                           audit.reports_asked, audit.reports_per_list == 0 ? ": nothing is known" : "");
  }
  absl::StrAppendFormat(
      &text,
      "epsilon %.6g, degree share %.6g, n = %d, %d reports of each of %d lists, p' = %.6g (%.1f s, %d threads)\n"
      "An honest mechanism is accused with probability %.0e at most, over all that follows.\n\n",
      parameters.epsilon(), parameters.degree_share(), parameters.node_count(), audit.reports_per_list, kLists,
      parameters.flip_probability(), audit.seconds, audit.threads, kFalseAlarmMax);
  absl::StrAppend(&text, BoundsTable(audit.bounds));
  absl::StrAppendFormat(&text, "\n%-58s %8s %10s %10s\n", "claim", "tests", "least p", "limit");
  for (const AuditCheck& check : audit.checks) {
    absl::StrAppendFormat(&text, "%-58s %8d %10.2e %10.2e  %s\n", check.claim, check.tests, check.smallest_p,
                          check.threshold, VerdictText(check.violated));
    if (check.violated) absl::StrAppend(&text, "    ", check.worst, "\n");
  }
  absl::StrAppend(&text, "\nnoticed with probability 0.99 or more:\n");
  const auto append_change = [&](const char* what, double change) {
    absl::StrAppendFormat(&text, "  %-56s %10.4f %%\n", what, 100 * change);
  };
  if (parameters.sends_bits()) {
    append_change("a flip probability that is wrong everywhere by", audit.detection_power.flip_rate_change);
    append_change("a flip probability that is wrong at one bit by", audit.detection_power.one_bit_flip_rate_change);
  }
  if (parameters.sends_degree()) {
    append_change("a scale of the degree noise that is wrong by", audit.detection_power.noise_scale_change);
  }
  if (parameters.sends_bits()) {
    absl::StrAppendFormat(&text, "  one coin used for two bits is missed with probability %.1e\n",
                          audit.detection_power.reused_coin_miss);
    if (audit.detection_power.shared_stream_flips.has_value()) {
      absl::StrAppendFormat(&text, "  a random stream that is read again, at most %d flips further on\n",
                            *audit.detection_power.shared_stream_flips);
    }
  }
  absl::StrAppend(&text, audit.passed() ? "\nPASSED: nothing contradicts the promise.\n"
                                        : "\nVIOLATED: the mechanism does not keep its promise.\n");
  return text;
}

std::string RandomnessAuditTable(const RandomnessAudit& audit) {
  std::string text;
  if (audit.partial()) {
    text = absl::StrFormat("PARTIAL: interrupted after %d of %d processes%s\n", audit.processes, audit.processes_asked,
                           audit.processes == 1 ? ": nothing is known" : "");
  }
  absl::StrAppendFormat(
      &text, "%d processes (forked, cloned, and the parent) and %d threads drew %d times: %d values of 128 bits\n",
      audit.processes, audit.threads, audit.draws, audit.values);
  for (const std::string& example : audit.examples) absl::StrAppend(&text, "  drawn twice: by ", example, "\n");
  absl::StrAppend(&text, "Not seen: copies of a whole machine (a virtual machine's snapshot that is resumed twice).\n");
  if (audit.processes == 1 && audit.passed()) return text;  // no other process to compare with
  if (audit.passed()) return absl::StrCat(text, "PASSED: no value was drawn twice.\n");
  return absl::StrCat(text, "VIOLATED: ", audit.collisions, " values were drawn twice.\n");
}

}  // namespace blink
