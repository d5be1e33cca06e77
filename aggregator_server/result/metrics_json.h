// The figures of a result as JSON: metrics.json, and its parts, which `blink simulate` prints as well. Nothing here
// needs the true graph.
#ifndef BLINK_AGGREGATOR_SERVER_RESULT_METRICS_JSON_H_
#define BLINK_AGGREGATOR_SERVER_RESULT_METRICS_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator_server/result/analysis.h"
#include "common/privacy/parameters.h"
#include "nlohmann/json.hpp"

namespace blink {

// Where the reports of a result came from. It decides what may be said of its privacy.
enum class ReportOrigin {
  kRound,            // the nodes of a round drew them
  kReplay,           // likewise, and somebody analysed them once more
  kSimulation,       // one process that knew every list drew them, with the nodes' cryptographic generator
  kSeededSimulation  // likewise, from a seed: whoever knows it knows the noise
};
inline bool IsSimulated(ReportOrigin origin) {
  return origin == ReportOrigin::kSimulation || origin == ReportOrigin::kSeededSimulation;
}

struct PrivacyFigures {
  bool is_private = false;     // the noise is cryptographic
  bool simulated = false;      // one process knew every list: no list was protected from it
  const char* noise = "";      // who or what drew it: "nodes", "cryptographic" or "seeded"
  const char* mechanism = "";  // its name
  double epsilon = 0, degree_share = 0, epsilon_list = 0, epsilon_degree = 0;
  std::optional<double> flip_probability;  // absent: no bits are sent
  // Absent: noise from a seed achieves none. A link stands in two lists. Where both ends report it, the two reports
  // together cost it twice as much.
  std::optional<double> achieved_epsilon, achieved_epsilon_per_undirected_link;
};
PrivacyFigures FiguresOfPrivacy(const PrivacyParameters& parameters, ReportOrigin origin);
nlohmann::ordered_json PrivacyJson(const PrivacyFigures& figures);

// Of the checks of one analysis, or the means over several. Counts may then be fractions.
struct PlausibilityFigures {
  const char* policy = "";  // "flag", "drop" or "keep"
  double false_alarm = 0, threshold_z = 0;
  uint32_t tested = 0;
  double flagged = 0, dropped = 0;
  bool symmetric = true;
  std::string note;  // empty: none
  std::optional<uint32_t> lie_seen_half, lie_seen_95;
  double seconds = 0;
};
PlausibilityFigures FiguresOfChecks(const Checks& checks);
nlohmann::ordered_json PlausibilityJson(const PlausibilityFigures& figures);
// The same of one analysis, with the list of flags, which is empty where the policy is to keep.
nlohmann::ordered_json PlausibilityJson(const Checks& checks);

// Of the prior that was asked for; under the attributed prior `beta` has the other beside it. What belongs to the
// beta-model alone (degree classes, MLE) keeps its place.
//   links           how many links Hard has, whatever was trained on
//   expected_quality
//                   what the posterior itself expects of its figures against the true graph
//   trained_links   how many the model was trained on; null for a Soft of every pair, and for a model that sees none.
//                   Of the model none, how many were asked for
//   trained_weight  the sum of their weights
nlohmann::ordered_json EstimateJson(const Estimates& estimates, uint64_t tie_seed, const SeenFigures& seen);

nlohmann::ordered_json TrainJson(const TrainResult& training, const Candidate& trained);
// The prior whose links, or class probabilities, a candidate is trained on; absent: of neither.
std::optional<Prior> PriorTrainedOn(const Candidate& candidate);
// {chosen, candidates}: what was tried. `research`: with test accuracies, which a round has no use for.
nlohmann::ordered_json SearchJson(const Candidate& chosen, const std::vector<Tried>& search, bool research);
// {features_only: {name, validation_loss, validation_accuracy}}: the strongest model that reads no report.
// `research` as above.
nlohmann::ordered_json FeaturesOnlyJson(const Tried& features_only, bool research);

// A count where `value` is a whole number; otherwise, as of a mean of counts, the number.
nlohmann::ordered_json CountJson(double value);
// Null where there is none.
template <typename Value>
nlohmann::ordered_json OptionalJson(const std::optional<Value>& value) {
  return value.has_value() ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}
// Likewise, by its name.
template <typename Value>
nlohmann::ordered_json NameJson(const std::optional<Value>& value, const char* (*name_of)(Value)) {
  return value.has_value() ? nlohmann::ordered_json(name_of(*value)) : nlohmann::ordered_json(nullptr);
}

// The parts of MetricsJson that need no estimate: from `program` to `reports`, and `train` and `classes`.
nlohmann::ordered_json MetricsHead(const PrivacyParameters& parameters, uint32_t reports, const DatasetFacts& dataset,
                                   ReportOrigin origin, uint32_t active);
void AddTrainingJson(const Candidate& trained, const TrainResult& training, const std::vector<Tried>& search,
                     const std::optional<Tried>& features_only, nlohmann::ordered_json& metrics);

// metrics.json:
//   program       version and commit
//   dataset       name and counts of what the reports were analysed with; digest of its features, labels and split
//   kind          "round", "replay" or "simulation"
//   privacy, reports, plausibility, estimate
//   train         accuracies, macro-F1, ROC-AUC, device, threads, seed, hyper-parameters, warnings; what was searched;
//                 null of the model none, as the next
//   files, sha256 digests of the other files and of this one; WriteResultFolder adds them
//   classes       how many, of the test nodes the figures of the first 1,000, and of up to 64 their confusion matrix
// `active`: n less the retired nodes; 0: n. A retired node is not missing.
nlohmann::ordered_json MetricsJson(const PrivacyParameters& parameters, uint32_t reports, const Analysis& analysis,
                                   ReportOrigin origin, uint32_t active = 0);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_RESULT_METRICS_JSON_H_
