#include "tools/audit/report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace blink {

using Json = nlohmann::ordered_json;

Json MechanismAuditJson(const MechanismAudit& audit) {
  const PrivacyParameters& parameters = audit.parameters;
  Json json = {{"audit", "mechanism"},
               {"passed", audit.passed()},
               {"epsilon", parameters.epsilon()},
               {"degree_share", parameters.degree_share()},
               {"nodes", parameters.node_count()},
               {"flip_probability", parameters.flip_probability()},
               {"achieved_epsilon", parameters.achieved_epsilon()},
               {"lists", 3},
               {"reports_per_list", audit.reports_per_list},
               {"pair_sample_reports", audit.pair_sample},
               {"threads", audit.threads},
               {"seconds", audit.seconds},
               {"false_alarm_probability_max", kFalseAlarmMax}};
  json["epsilon_bounds"] = Json::array();
  for (const EpsilonBound& bound : audit.bounds) {
    json["epsilon_bounds"].push_back(
        {{"of", bound.of}, {"lower", bound.lower}, {"promised", bound.promised}, {"violated", bound.violated}});
  }
  json["checks"] = Json::array();
  for (const AuditCheck& check : audit.checks) {
    json["checks"].push_back({{"claim", check.claim},
                              {"tests", check.tests},
                              {"smallest_p", check.smallest_p},
                              {"threshold", check.threshold},
                              {"worst", check.worst},
                              {"violated", check.violated}});
  }
  Json& power = json["power"] = Json::object();
  if (parameters.sends_bits()) {
    power["flip_rate_change"] = audit.power.flip_rate_change;
    power["one_bit_flip_rate_change"] = audit.power.one_bit_flip_rate_change;
    power["reused_coin_miss_probability"] = audit.power.reused_coin_miss;
  }
  if (parameters.sends_degree()) power["degree_noise_scale_change"] = audit.power.noise_scale_change;
  return json;
}

Json RandomnessAuditJson(const RandomnessAudit& audit) {
  return {{"audit", "randomness"},          {"passed", audit.passed()},  {"processes", audit.processes},
          {"threads", audit.threads},       {"draws", audit.draws},      {"values", audit.values},
          {"collisions", audit.collisions}, {"examples", audit.examples}};
}

std::string MechanismAuditTable(const Json& json) {
  const auto verdict = [](const Json& item) { return item["violated"].get<bool>() ? "VIOLATED" : "ok"; };
  std::string text = absl::StrFormat(
      "epsilon %.6g, degree share %.6g, n = %d, %d reports of each of %d lists, p' = %.6g (%.1f s, %d threads)\n"
      "An honest mechanism is accused with probability %.0e at most, over all that follows.\n\n",
      json["epsilon"].get<double>(), json["degree_share"].get<double>(), json["nodes"].get<uint64_t>(),
      json["reports_per_list"].get<uint64_t>(), json["lists"].get<int>(), json["flip_probability"].get<double>(),
      json["seconds"].get<double>(), json["threads"].get<int>(), json["false_alarm_probability_max"].get<double>());
  absl::StrAppendFormat(&text, "%-48s %12s %12s\n", "epsilon spent on", "at least", "promised");
  for (const Json& bound : json["epsilon_bounds"]) {
    absl::StrAppendFormat(&text, "%-48s %12.6f %12.6f  %s\n", bound["of"].get<std::string>(),
                          bound["lower"].get<double>(), bound["promised"].get<double>(), verdict(bound));
  }
  absl::StrAppendFormat(&text, "\n%-58s %8s %10s %10s\n", "claim", "tests", "least p", "limit");
  for (const Json& check : json["checks"]) {
    absl::StrAppendFormat(&text, "%-58s %8d %10.2e %10.2e  %s\n", check["claim"].get<std::string>(),
                          check["tests"].get<uint64_t>(), check["smallest_p"].get<double>(),
                          check["threshold"].get<double>(), verdict(check));
    if (check["violated"].get<bool>()) absl::StrAppend(&text, "    ", check["worst"].get<std::string>(), "\n");
  }
  const Json& power = json["power"];
  absl::StrAppend(&text, "\nnoticed with probability 0.99 or more:\n");
  const auto line = [&](const char* what, const char* key) {
    if (power.contains(key)) absl::StrAppendFormat(&text, "  %-56s %10.4f %%\n", what, 100 * power[key].get<double>());
  };
  line("a flip probability that is wrong everywhere by", "flip_rate_change");
  line("a flip probability that is wrong at one bit by", "one_bit_flip_rate_change");
  line("a scale of the degree noise that is wrong by", "degree_noise_scale_change");
  if (power.contains("reused_coin_miss_probability")) {
    absl::StrAppendFormat(&text, "  one coin used for two bits is missed with probability %.1e\n",
                          power["reused_coin_miss_probability"].get<double>());
  }
  absl::StrAppend(&text, json["passed"].get<bool>() ? "\nPASSED: nothing contradicts the promise.\n"
                                                    : "\nVIOLATED: the mechanism does not keep its promise.\n");
  return text;
}

std::string RandomnessAuditTable(const Json& json) {
  std::string text = absl::StrFormat(
      "%d processes (forked, cloned, and the parent) and %d threads drew %d times: %d values of 128 bits\n",
      json["processes"].get<int>(), json["threads"].get<uint64_t>(), json["draws"].get<uint64_t>(),
      json["values"].get<uint64_t>());
  for (const Json& example : json["examples"])
    absl::StrAppend(&text, "  drawn twice: by ", example.get<std::string>(), "\n");
  absl::StrAppend(&text, "Not seen: copies of a whole machine (a virtual machine's snapshot that is resumed twice).\n");
  if (json["passed"].get<bool>()) return absl::StrCat(text, "PASSED: no value was drawn twice.\n");
  return absl::StrCat(text, "VIOLATED: ", json["collisions"].get<uint64_t>(), " values were drawn twice.\n");
}

}  // namespace blink
