#include "aggregator_server/result/metrics_json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/program.h"
#include "common/wire/round.h"

namespace blink {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kClassesListedMax = 1000;
constexpr size_t kFlagsListedMax = 100;  // plausibility.csv has all

// Null of what is no network: it has no such setting.
template <typename Value>
nlohmann::ordered_json OfNetwork(const TrainOptions& options, Value value) {
  return IsNetwork(options.model) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

// What a search chooses, but for the width.
void AddChoice(const Candidate& candidate, nlohmann::ordered_json& json) {
  json["model"] = ModelName(candidate.options.model);
  json["prior"] = NameJson(PriorTrainedOn(candidate), PriorName);
  json["variant"] = NameJson(candidate.variant, VariantName);
}
void AddSetting(const TrainOptions& options, nlohmann::ordered_json& json) {
  json["learning_rate"] = OfNetwork(options, options.learning_rate);
  json["weight_decay"] = OfNetwork(options, options.weight_decay);
  json["dropout"] = OfNetwork(options, options.dropout);
}

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

nlohmann::ordered_json ExpectedQualityJson(const std::optional<ExpectedQuality>& expected, double nodes) {
  if (!expected) return nullptr;
  return {{"log_likelihood", expected->log_likelihood},
          {"auc", expected->auc},
          {"mae", 2 * expected->error / (nodes * nodes)},
          {"precision", expected->precision},
          {"recall", expected->recall}};
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

nlohmann::ordered_json CountJson(double value) {
  return value == std::floor(value) ? Json(static_cast<uint64_t>(value)) : Json(value);
}

PrivacyFigures FiguresOfPrivacy(const PrivacyParameters& parameters, ReportOrigin origin) {
  PrivacyFigures figures;
  figures.is_private = origin != ReportOrigin::kSeededSimulation;
  figures.simulated = IsSimulated(origin);
  figures.noise = !IsSimulated(origin) ? "nodes" : origin == ReportOrigin::kSimulation ? "cryptographic" : "seeded";
  // Quotients of integers, so that 0.1 is printed as 0.1.
  const double share_trillionths = static_cast<double>(parameters.degree_epsilon_numerator());
  figures.mechanism = MechanismName(parameters.mechanism());
  figures.epsilon = static_cast<double>(parameters.epsilon_micro()) / 1e6;
  figures.degree_share = parameters.degree_share_ppm() / 1e6;
  figures.epsilon_list = (static_cast<double>(parameters.epsilon_micro()) * 1e6 - share_trillionths) / 1e12;
  figures.epsilon_degree = share_trillionths / 1e12;
  if (parameters.sends_bits()) figures.flip_probability = parameters.flip_probability();
  if (origin == ReportOrigin::kSeededSimulation) return figures;
  figures.achieved_epsilon = parameters.achieved_epsilon();
  figures.achieved_epsilon_per_undirected_link = parameters.reports_of_pair() * parameters.achieved_epsilon();
  return figures;
}

nlohmann::ordered_json PrivacyJson(const PrivacyFigures& figures) {
  Json json;
  json["private"] = figures.is_private;
  json["simulated"] = figures.simulated;
  json["noise"] = figures.noise;
  json["mechanism"] = figures.mechanism;
  json["epsilon"] = figures.epsilon;
  json["degree_share"] = figures.degree_share;
  json["epsilon_list"] = figures.epsilon_list;
  json["epsilon_degree"] = figures.epsilon_degree;
  json["flip_probability"] = OptionalJson(figures.flip_probability);
  json["achieved_epsilon"] = OptionalJson(figures.achieved_epsilon);
  json["achieved_epsilon_per_undirected_link"] = OptionalJson(figures.achieved_epsilon_per_undirected_link);
  return json;
}

PlausibilityFigures FiguresOfChecks(const Checks& checks) {
  return {.policy = ImplausibleName(checks.policy),
          .false_alarm = checks.false_alarm,
          .threshold_z = checks.found.threshold_z,
          .tested = checks.found.tested,
          .flagged = static_cast<double>(checks.found.flagged.size()),
          .dropped = static_cast<double>(checks.dropped),
          .symmetric = checks.found.symmetric,
          .note = checks.found.note,
          .lie_seen_half = checks.lie_seen_half,
          .lie_seen_95 = checks.lie_seen_95,
          .seconds = checks.found.seconds};
}

nlohmann::ordered_json PlausibilityJson(const PlausibilityFigures& figures) {
  Json json;
  json["policy"] = figures.policy;
  json["false_alarm"] = figures.false_alarm;
  json["threshold_z"] = figures.threshold_z;
  json["tested"] = figures.tested;
  json["flagged"] = CountJson(figures.flagged);
  json["dropped"] = CountJson(figures.dropped);
  json["symmetric"] = figures.symmetric;
  json["note"] = figures.note.empty() ? Json(nullptr) : Json(figures.note);
  json["lie_seen_half"] = OptionalJson(figures.lie_seen_half);
  json["lie_seen_95"] = OptionalJson(figures.lie_seen_95);
  json["seconds"] = figures.seconds;
  return json;
}

nlohmann::ordered_json PlausibilityJson(const Checks& checks) {
  Json json = PlausibilityJson(FiguresOfChecks(checks));
  json["flags"] = Json::array();
  const size_t listed =
      checks.policy == v1::IMPLAUSIBLE_KEEP ? 0 : std::min(kFlagsListedMax, checks.found.flagged.size());
  for (size_t k = 0; k < listed; ++k) {
    const ImplausibleReport& report = checks.found.flagged[k];
    json["flags"].push_back({{"node", report.node}, {"test", report.test}, {"z", report.z}});
  }
  return json;
}

nlohmann::ordered_json EstimateJson(const Estimates& estimates, uint64_t tie_seed, const SeenFigures& seen) {
  const LinkEstimate& beta = estimates.beta;
  const BetaModel& mle = beta.beta_fit->mle;
  const LinkPosterior& best = estimates.BestGuess();
  Json json;
  json["prior"] = PriorName(estimates.prior());
  json["distinct_degrees"] = beta.beta_fit->distinct_degrees;
  json["nodes_without_report"] = beta.nodes_without_report;
  json["mle_exists"] = mle.exists;
  json["mle_regularised"] = mle.regularised;
  json["mle_seconds"] = mle.seconds;
  json["mle_iterations"] = mle.iterations;
  json["mle_residual"] = mle.residual;
  json["mle_degree_distance"] = mle.distance;
  json["denoise_seconds"] = beta.seconds - mle.seconds;
  json["expected_links"] = best.expected_links;
  json["links"] = best.links().link_count();
  json["expected_quality"] = ExpectedQualityJson(best.expected_quality, best.links().node_count());
  json["trained_links"] = OptionalJson(seen.links);
  json["trained_weight"] = OptionalJson(seen.weight);
  json["tie_seed"] = absl::StrFormat("%016x", tie_seed);
  if (!estimates.attributed) return json;
  const LinkEstimate& attributed = *estimates.attributed;
  json["attributed_seconds"] = attributed.seconds;
  json["network_rounds"] = attributed.attributed_fit->network_rounds;
  json["left_out_links"] = attributed.left_out_links;
  json["coefficients"] = Json::object();
  for (const auto& [feature, theta] : attributed.attributed_fit->coefficients) json["coefficients"][feature] = theta;
  json["training"] = {{"expected_links", attributed.expected_links}, {"links", attributed.links().link_count()}};
  json["beta"] = {{"expected_links", beta.expected_links}, {"links", beta.links().link_count()}};
  return json;
}

std::optional<Prior> PriorTrainedOn(const Candidate& candidate) {
  if (!candidate.variant && IsNetwork(candidate.options.model)) return std::nullopt;
  return candidate.prior;
}

nlohmann::ordered_json TrainJson(const TrainResult& training, const Candidate& trained) {
  const TrainOptions& options = trained.options;
  nlohmann::ordered_json json;  // NaN (an empty split) becomes null
  AddChoice(trained, json);
  json["device"] = training.device;
  json["fell_back_to_cpu"] = training.fell_back_to_cpu;
  json["threads"] = training.threads;
  json["deterministic"] = training.deterministic;
  json["seed"] = options.seed;
  AddSetting(options, json);
  json["epochs"] = OfNetwork(options, options.epochs);
  json["hidden"] = OfNetwork(options, options.hidden);
  json["layers"] = OfNetwork(options, options.layers);
  json["patience"] = OfNetwork(options, options.patience);
  if (options.batch_nodes > 0) {
    json["batch_nodes"] = options.batch_nodes;
    json["fan_out"] = options.fan_out;
  }
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
  json["validation_roc_auc"] = training.validation.roc_auc;
  json["test_roc_auc"] = training.test.roc_auc;
  json["nodes"] = {{"train", training.train.nodes},
                   {"validation", training.validation.nodes},
                   {"test", training.test.nodes},
                   {"unlabelled", training.unlabelled}};
  json["warnings"] = training.warnings;
  return json;
}

nlohmann::ordered_json FeaturesOnlyJson(const Tried& features_only, bool research) {
  Json json = {{"name", CandidateName(features_only.candidate)},
               {"validation_loss", features_only.validation_loss},
               {"validation_accuracy", features_only.validation_accuracy}};
  if (features_only.validation_measure) json["validation_measure"] = *features_only.validation_measure;
  if (research) json["test_accuracy"] = features_only.test_accuracy;
  return {{"features_only", std::move(json)}};
}

nlohmann::ordered_json SearchJson(const Candidate& chosen, const std::vector<Tried>& search, bool research) {
  nlohmann::ordered_json json;
  json["chosen"] = CandidateName(chosen);
  json["candidates"] = nlohmann::ordered_json::array();
  for (const Tried& tried : search) {
    const TrainOptions& options = tried.candidate.options;
    nlohmann::ordered_json entry;
    entry["name"] = CandidateName(tried.candidate);
    AddChoice(tried.candidate, entry);
    AddSetting(options, entry);
    entry["hidden"] = OfNetwork(options, options.hidden);
    if (tried.skipped.empty()) {
      entry["best_epoch"] = tried.best_epoch;
      if (tried.ended_after > 0) {
        entry["ended_after"] = tried.ended_after;
        entry["ended_by"] = tried.pruned ? "reach" : "patience";
      }
      entry["validation_loss"] = tried.validation_loss;
      entry["validation_accuracy"] = tried.validation_accuracy;
      if (tried.validation_measure) entry["validation_measure"] = *tried.validation_measure;
      if (research) entry["test_accuracy"] = tried.test_accuracy;
    } else {
      entry["skipped"] = tried.skipped;
    }
    json["candidates"].push_back(std::move(entry));
  }
  return json;
}

nlohmann::ordered_json MetricsHead(const PrivacyParameters& parameters, uint32_t reports, const DatasetFacts& dataset,
                                   ReportOrigin origin, uint32_t active) {
  if (active == 0) active = parameters.node_count();
  nlohmann::ordered_json json;
  json["program"] = {{"version", ProgramVersion()}, {"commit", ProgramCommit()}};
  json["dataset"] = {{"name", dataset.name},
                     {"nodes", dataset.nodes},
                     {"features", dataset.features},
                     {"classes", dataset.classes},
                     {"attributes_sha256", dataset.attributes_sha256}};
  json["kind"] = IsSimulated(origin) ? "simulation" : origin == ReportOrigin::kReplay ? "replay" : "round";
  json["privacy"] = PrivacyJson(FiguresOfPrivacy(parameters, origin));
  json["reports"] = {{"received", reports},
                     {"nodes", parameters.node_count()},
                     {"retired", parameters.node_count() - active},
                     {"missing", active > reports ? active - reports : 0}};
  return json;
}

void AddTrainingJson(const Candidate& trained, const TrainResult& training, const std::vector<Tried>& search,
                     const std::optional<Tried>& features_only, nlohmann::ordered_json& metrics) {
  metrics["train"] = TrainJson(training, trained);
  if (const std::string left_out = LeftOutOfClasses(training); !left_out.empty()) {
    metrics["train"]["warnings"].push_back(left_out);
  }
  metrics["classes"] = ClassesJson(training);
  if (!search.empty()) metrics["train"].update(SearchJson(trained, search, /*research=*/false));
  if (features_only) metrics["train"].update(FeaturesOnlyJson(*features_only, /*research=*/false));
}

nlohmann::ordered_json MetricsJson(const PrivacyParameters& parameters, uint32_t reports, const Analysis& analysis,
                                   ReportOrigin origin, uint32_t active) {
  nlohmann::ordered_json json = MetricsHead(parameters, reports, analysis.dataset, origin, active);
  json["plausibility"] = PlausibilityJson(analysis.checks);
  json["estimate"] =
      EstimateJson(analysis.estimates, analysis.tie_seed, FiguresOfSeen(analysis.estimates, analysis.trained));
  if (!analysis.has_model()) {
    json["estimate"]["variant"] = NameJson(analysis.trained.variant, VariantName);
    json["train"] = json["classes"] = nullptr;
    return json;
  }
  AddTrainingJson(analysis.trained, analysis.training, analysis.search, analysis.features_only, json);
  return json;
}

}  // namespace blink
