#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator_server/result/link_files.h"
#include "aggregator_server/train/log_probabilities.h"
#include "aggregator_server/worker/analysis.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {
namespace {

// The softmax probability of the largest of a node's logits.
double Confidence(const float* logits, size_t classes) { return 1 / SumOfExponentials(logits, classes); }

std::string PredictionsCsv(const TrainResult& training, const NodeAttributes& attributes) {
  std::string csv = "node,prediction,confidence,split\n";
  const size_t classes = training.logits.size() / training.predictions.size();
  for (size_t node = 0; node < training.predictions.size(); ++node) {
    absl::StrAppendFormat(&csv, "%d,%d,%.9g,%s\n", node, training.predictions[node],
                          Confidence(&training.logits[node * classes], classes), SplitName(attributes.split[node]));
  }
  return csv;
}

std::string CurvesCsv(const TrainResult& training) {
  std::string csv = "epoch,train_loss,validation_loss,validation_accuracy\n";
  for (size_t e = 0; e < training.validation_losses.size(); ++e) {
    absl::StrAppendFormat(&csv, "%d,%.9g,%.9g,%.9g\n", e + 1, training.train_losses[e], training.validation_losses[e],
                          training.validation_accuracies[e]);  // nine digits: every float is read back as it was
  }
  return csv;
}

constexpr size_t kClassesListedMax = 1000;
constexpr size_t kFlagsListedMax = 100;  // in metrics.json; plausibility.csv has all

std::string Score(double z) { return std::isnan(z) ? "" : absl::StrFormat("%.3f", z); }

std::string PlausibilityCsv(const Checks& checks) {
  std::string csv = "node,ones_z,degree_z,unconfirmed_z,omitted_z,flagged\n";
  if (checks.policy == v1::IMPLAUSIBLE_KEEP) return csv;
  std::vector<bool> flagged(checks.found.scores.size(), false);
  for (const ImplausibleReport& report : checks.found.flagged) flagged[report.node] = true;
  for (size_t node = 0; node < flagged.size(); ++node) {
    const ReportScores& scores = checks.found.scores[node];
    if (std::isnan(scores.ones) && std::isnan(scores.degree)) continue;  // no report
    absl::StrAppend(&csv, node, ",", Score(scores.ones), ",", Score(scores.degree), ",", Score(scores.unconfirmed), ",",
                    Score(scores.omitted), ",", flagged[node] ? 1 : 0, "\n");
  }
  return csv;
}

}  // namespace

nlohmann::ordered_json PrivacyJson(const PrivacyParameters& parameters, ReportOrigin origin) {
  nlohmann::ordered_json json;
  json["private"] = origin != ReportOrigin::kSeededSimulation;
  json["simulated"] = IsSimulated(origin);
  json["noise"] = !IsSimulated(origin) ? "nodes" : origin == ReportOrigin::kSimulation ? "cryptographic" : "seeded";
  // Quotients of integers, so that 0.1 is printed as 0.1.
  const double share_trillionths = static_cast<double>(parameters.degree_epsilon_numerator());
  json["epsilon"] = static_cast<double>(parameters.epsilon_micro()) / 1e6;
  json["degree_share"] = parameters.degree_share_ppm() / 1e6;
  json["epsilon_list"] = (static_cast<double>(parameters.epsilon_micro()) * 1e6 - share_trillionths) / 1e12;
  json["epsilon_degree"] = share_trillionths / 1e12;
  json["flip_probability"] = parameters.sends_bits() ? nlohmann::ordered_json(parameters.flip_probability()) : nullptr;
  const bool seeded = origin == ReportOrigin::kSeededSimulation;
  const auto achieved = [&](double epsilon) {
    return seeded ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(epsilon);
  };
  json["achieved_epsilon"] = achieved(parameters.achieved_epsilon());
  // The link stands in two lists, so the two reports together cost it twice as much.
  json["achieved_epsilon_per_undirected_link"] = achieved(2 * parameters.achieved_epsilon());
  return json;
}

namespace {

nlohmann::ordered_json VariantOf(const Candidate& candidate) {
  return candidate.variant ? nlohmann::ordered_json(VariantName(*candidate.variant)) : nlohmann::ordered_json(nullptr);
}

// Of the links, or the class probabilities, that it was trained on; null: of neither.
nlohmann::ordered_json PriorOf(const Candidate& candidate) {
  if (!candidate.variant && IsNetwork(candidate.options.model)) return nullptr;
  return PriorName(candidate.prior);
}

// Null of what is no network: it has no such setting.
template <typename Value>
nlohmann::ordered_json OfNetwork(const TrainOptions& options, Value value) {
  return IsNetwork(options.model) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

// What a search chooses, but for the width.
void TellChoice(const Candidate& candidate, nlohmann::ordered_json& json) {
  json["model"] = ModelName(candidate.options.model);
  json["prior"] = PriorOf(candidate);
  json["variant"] = VariantOf(candidate);
}
void TellSetting(const TrainOptions& options, nlohmann::ordered_json& json) {
  json["learning_rate"] = OfNetwork(options, options.learning_rate);
  json["weight_decay"] = OfNetwork(options, options.weight_decay);
  json["dropout"] = OfNetwork(options, options.dropout);
}

}  // namespace

nlohmann::ordered_json TrainJson(const TrainResult& training, const Candidate& trained) {
  const TrainOptions& options = trained.options;
  nlohmann::ordered_json json;  // NaN (an empty split) becomes null
  TellChoice(trained, json);
  json["device"] = training.device;
  json["fell_back_to_cpu"] = training.fell_back_to_cpu;
  json["threads"] = training.threads;
  json["deterministic"] = training.deterministic;
  json["seed"] = options.seed;
  TellSetting(options, json);
  json["epochs"] = OfNetwork(options, options.epochs);
  json["hidden"] = OfNetwork(options, options.hidden);
  json["layers"] = OfNetwork(options, options.layers);
  json["patience"] = OfNetwork(options, options.patience);
  json["balance_classes"] = options.balance_classes;
  json["node_features"] = NodeFeaturesName(training.node_features);
  json["features"] = training.feature_count;
  json["epochs_trained"] = training.validation_losses.size();
  json["resumed_from_epoch"] = training.resumed_from_epoch;
  json["epoch_ms_mean"] = OfNetwork(options, training.epoch_ms_mean);
  json["best_epoch"] = training.best_epoch;
  json["validation_loss"] = training.validation_loss;
  json["train_accuracy"] = training.train_accuracy;
  json["validation_accuracy"] = training.validation_accuracy;
  json["test_accuracy"] = training.test_accuracy;
  const auto [low, high] = WilsonInterval(training.test_accuracy, training.test.nodes);
  json["test_accuracy_95"] = {low, high};
  json["train_macro_f1"] = training.train.macro_f1;
  json["validation_macro_f1"] = training.validation.macro_f1;
  json["test_macro_f1"] = training.test.macro_f1;
  json["nodes"] = {{"train", training.train.nodes},
                   {"validation", training.validation.nodes},
                   {"test", training.test.nodes},
                   {"unlabelled", training.unlabelled}};
  json["warnings"] = training.warnings;
  return json;
}

namespace {

// Of the test nodes, class by class.
nlohmann::ordered_json ClassesJson(const TrainResult& training) {
  nlohmann::ordered_json json;
  const std::vector<ClassFigures>& classes = training.test.classes;
  json["count"] = classes.size();
  json["test"] = nlohmann::ordered_json::array();
  for (size_t c = 0; c < std::min(kClassesListedMax, classes.size()); ++c) {
    const ClassFigures& figures = classes[c];
    json["test"].push_back({{"class", c},
                            {"name", training.class_names.empty() ? nlohmann::ordered_json(nullptr)
                                                                  : nlohmann::ordered_json(training.class_names[c])},
                            {"nodes", figures.nodes},
                            {"predicted", figures.predicted},
                            {"accuracy", figures.Recall()},
                            {"precision", figures.Precision()},
                            {"f1", figures.F1()}});
  }
  json["confusion"] = nlohmann::ordered_json::array();
  for (size_t c = 0; c * classes.size() < training.test_confusion.size(); ++c) {
    const auto row = training.test_confusion.begin() + static_cast<int64_t>(c * classes.size());
    json["confusion"].push_back(std::vector<uint32_t>(row, row + static_cast<int64_t>(classes.size())));
  }
  return json;
}

// What ClassesJson leaves out; empty: nothing.
std::string LeftOutOfClasses(const TrainResult& training) {
  const size_t classes = training.test.classes.size();
  if (!training.test_confusion.empty() || classes == 0) return "";
  return absl::StrCat(
      "of ", classes, " classes ",
      classes > kClassesListedMax ? absl::StrCat("only the first ", kClassesListedMax, " are listed here and ") : "",
      "no confusion matrix is kept: predictions.csv has the prediction of every node");
}

}  // namespace

nlohmann::ordered_json SearchJson(const Candidate& chosen, const std::vector<Tried>& search, bool research) {
  nlohmann::ordered_json json;
  json["chosen"] = CandidateName(chosen);
  json["candidates"] = nlohmann::ordered_json::array();
  for (const Tried& tried : search) {
    const TrainOptions& options = tried.candidate.options;
    nlohmann::ordered_json entry;
    entry["name"] = CandidateName(tried.candidate);
    TellChoice(tried.candidate, entry);
    TellSetting(options, entry);
    entry["hidden"] = OfNetwork(options, options.hidden);
    if (tried.skipped.empty()) {
      entry["best_epoch"] = tried.best_epoch;
      if (tried.ended_after > 0) {
        entry["ended_after"] = tried.ended_after;
        entry["ended_by"] = tried.pruned ? "reach" : "patience";
      }
      entry["validation_loss"] = tried.validation_loss;
      entry["validation_accuracy"] = tried.validation_accuracy;
      if (research) entry["test_accuracy"] = tried.test_accuracy;
    } else {
      entry["skipped"] = tried.skipped;
    }
    json["candidates"].push_back(std::move(entry));
  }
  return json;
}

const LinkWeights* LinksSeen(const LinkEstimate& estimate, const std::optional<AttributedEstimate>& attributed,
                             const Candidate& trained) {
  const Model model = trained.options.model;
  if (!attributed.has_value() || trained.prior != Prior::kAttributed)
    return trained.variant ? &estimate.Of(*trained.variant) : nullptr;
  const AttributedPosterior& posterior = attributed->training;
  std::optional<Variant> variant = trained.variant;
  if (!variant && (model == Model::kStacked || model == Model::kEnsemble)) variant = Variant::kSoft;
  if (!variant) return nullptr;
  const LinkWeights* weights = posterior.Of(*variant);
  return weights != nullptr ? weights : &posterior.hard;
}

SeenFigures FiguresOfSeen(const LinkEstimate& estimate, const std::optional<AttributedEstimate>& attributed,
                          const Candidate& trained) {
  const LinkWeights* weights = LinksSeen(estimate, attributed, trained);
  if (weights == nullptr) return {};
  if (weights->has_background()) return {.weight = estimate.expected_links};
  const uint64_t links = weights->links.link_count();
  const double both_directions = std::accumulate(weights->values.begin(), weights->values.end(), 0.0);
  return {.links = links, .weight = weights->values.empty() ? static_cast<double>(links) : both_directions / 2};
}

nlohmann::ordered_json EstimateJson(const LinkEstimate& estimate, const std::optional<AttributedEstimate>& attributed,
                                    uint64_t tie_seed, const SeenFigures& seen) {
  const auto number = [](const auto& value) {
    return value.has_value() ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json;
  json["prior"] = PriorName(attributed ? Prior::kAttributed : Prior::kBeta);
  json["distinct_degrees"] = estimate.distinct_degrees;
  json["nodes_without_report"] = estimate.nodes_without_report;
  json["mle_exists"] = estimate.mle.exists;
  json["mle_regularised"] = estimate.mle.regularised;
  json["mle_seconds"] = estimate.mle.seconds;
  json["mle_iterations"] = estimate.mle.iterations;
  json["mle_residual"] = estimate.mle.residual;
  json["mle_degree_distance"] = estimate.mle.distance;
  json["denoise_seconds"] = estimate.denoise_seconds;
  json["expected_links"] = attributed ? attributed->links.expected_links : estimate.expected_links;
  json["links"] = (attributed ? attributed->links.hard.links : estimate.links()).link_count();
  json["trained_links"] = number(seen.links);
  json["trained_weight"] = number(seen.weight);
  json["tie_seed"] = absl::StrFormat("%016x", tie_seed);
  if (!attributed) return json;
  json["attributed_seconds"] = attributed->seconds;
  json["network_rounds"] = attributed->network_rounds;
  json["left_out_links"] = attributed->training.left_out_links;
  json["coefficients"] = nlohmann::ordered_json::object();
  for (const AttributedEstimate::Coefficient& coefficient : attributed->coefficients)
    json["coefficients"][coefficient.feature] = coefficient.theta;
  json["training"] = {{"expected_links", attributed->training.expected_links},
                      {"links", attributed->training.hard.links.link_count()}};
  json["beta"] = {{"expected_links", estimate.expected_links}, {"links", estimate.links().link_count()}};
  return json;
}

nlohmann::ordered_json PlausibilityJson(const Checks& checks) {
  const auto number = [](const std::optional<uint32_t>& value) {
    return value.has_value() ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json;
  json["policy"] = ImplausibleName(checks.policy);
  json["false_alarm"] = checks.false_alarm;
  json["threshold_z"] = checks.found.threshold_z;
  json["tested"] = checks.found.tested;
  json["flagged"] = checks.found.flagged.size();
  json["dropped"] = checks.dropped;
  json["symmetric"] = checks.found.symmetric;
  json["note"] =
      checks.found.note.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(checks.found.note);
  json["lie_seen_half"] = number(checks.lie_seen_half);
  json["lie_seen_95"] = number(checks.lie_seen_95);
  json["seconds"] = checks.found.seconds;
  json["flags"] = nlohmann::ordered_json::array();
  const size_t listed =
      checks.policy == v1::IMPLAUSIBLE_KEEP ? 0 : std::min(kFlagsListedMax, checks.found.flagged.size());
  for (size_t k = 0; k < listed; ++k) {
    const ImplausibleReport& report = checks.found.flagged[k];
    json["flags"].push_back({{"node", report.node}, {"test", report.test}, {"z", report.z}});
  }
  return json;
}

nlohmann::ordered_json MetricsJson(const PrivacyParameters& parameters, uint32_t reports, const Analysis& analysis,
                                   ReportOrigin origin, uint32_t active) {
  if (active == 0) active = parameters.node_count();
  nlohmann::ordered_json json;
  json["kind"] = IsSimulated(origin) ? "simulation" : origin == ReportOrigin::kReplay ? "replay" : "round";
  json["privacy"] = PrivacyJson(parameters, origin);
  json["reports"] = {{"received", reports},
                     {"nodes", parameters.node_count()},
                     {"retired", parameters.node_count() - active},
                     {"missing", active > reports ? active - reports : 0}};
  json["plausibility"] = PlausibilityJson(analysis.checks);
  json["estimate"] = EstimateJson(analysis.estimate, analysis.attributed, analysis.tie_seed,
                                  FiguresOfSeen(analysis.estimate, analysis.attributed, analysis.trained));
  json["train"] = TrainJson(analysis.training, analysis.trained);
  if (const std::string left_out = LeftOutOfClasses(analysis.training); !left_out.empty()) {
    json["train"]["warnings"].push_back(left_out);
  }
  json["classes"] = ClassesJson(analysis.training);
  if (!analysis.search.empty()) json["train"].update(SearchJson(analysis.trained, analysis.search, /*research=*/false));
  return json;
}

namespace {

absl::Status WriteLinks(const std::string& folder, const Analysis& analysis) {
  const LinkWeights* seen = LinksSeen(analysis.estimate, analysis.attributed, analysis.trained);
  const CsrGraph* hard = &analysis.estimate.links();
  bool soft = false;  // and a list
  if (seen == nullptr) {
    seen = analysis.attributed ? &analysis.attributed->links.hard : &analysis.estimate.hard;
  } else if (analysis.attributed && analysis.trained.prior == Prior::kAttributed) {
    hard = &analysis.attributed->training.hard.links;
    soft = analysis.attributed->training.soft.has_value() && seen == &*analysis.attributed->training.soft;
  }
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/links.csv", LinksCsv(*seen, *hard, soft)));
  return WriteLinksNpz(*seen, analysis.training.threads, folder + "/links.npz", kSoftPairsMax, soft ? kKeptMin : 0);
}

}  // namespace

absl::Status WriteResultFolder(const std::string& folder, const PrivacyParameters& parameters, uint32_t reports,
                               const Analysis& analysis, const NodeAttributes& attributes, ReportOrigin origin,
                               uint32_t active) {
  if (analysis.training.predictions.size() != attributes.node_count) {
    return absl::InternalError("the result has another number of predictions than there are nodes");
  }
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  // The names of classes are the operator's bytes: what is no UTF-8 in them must not cost the round its result.
  const std::string metrics = MetricsJson(parameters, reports, analysis, origin, active)
                                  .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                              "\n";
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/metrics.json", metrics));
  BLINK_RETURN_IF_ERROR(
      WriteFileAtomically(folder + "/predictions.csv", PredictionsCsv(analysis.training, attributes)));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/curves.csv", CurvesCsv(analysis.training)));
  BLINK_RETURN_IF_ERROR(WriteLinks(folder, analysis));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/plausibility.csv", PlausibilityCsv(analysis.checks)));
  if (!analysis.training.script_bytes.empty()) {
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/model.ts", analysis.training.script_bytes));
  }
  return WriteFileAtomically(folder + "/model.pt", analysis.training.model_bytes);
}

}  // namespace blink
