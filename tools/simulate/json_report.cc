#include "tools/simulate/json_report.h"

#include <utility>

#include "common/cli/program_json.h"

namespace blink {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kDeviationIs[] = "sample standard deviation over the trials (n - 1)";

// The count of a mean over all trials; null where a trial has none.
Json OptionalCountJson(const std::optional<double>& count) { return count ? CountJson(*count) : Json(nullptr); }

Json LinksJson(const MechanismFigures& figures) {
  Json json = {{"links", figures.links}};
  json["precision"] = OptionalJson(figures.precision);
  json["recall"] = OptionalJson(figures.recall);
  if (figures.groups) json["groups"] = *figures.groups;
  json["links_seconds"] = figures.links_seconds;
  return json;
}

Json PrivacyPart(const SimulationFigures& figures) {
  if (figures.privacy) return PrivacyJson(*figures.privacy);
  Json json;  // no report was drawn: the true graph, given links, or the MLP, which sees no link
  json["private"] = figures.simulation->given ? Json(nullptr) : Json(false);
  json["simulated"] = true;
  for (const char* key : {"noise", "mechanism", "epsilon", "degree_share", "epsilon_list", "epsilon_degree",
                          "flip_probability", "achieved_epsilon", "achieved_epsilon_per_undirected_link"}) {
    json[key] = nullptr;
  }
  return json;
}

// The costs are those of the reports that were drawn: null without reports, and of noise from a seed.
Json MechanismPart(const SimulationFigures& figures) {
  const MechanismKind kind = figures.simulation->mechanism;
  Json json = {{"name", FactsOf(kind).name}, {"epsilon_per_entry", nullptr}, {"epsilon_per_link", nullptr}};
  if (figures.privacy) {
    json["epsilon_per_entry"] = OptionalJson(figures.privacy->achieved_epsilon);
    json["epsilon_per_link"] = OptionalJson(figures.privacy->achieved_epsilon_per_undirected_link);
  }
  if (figures.mechanism) json.update(LinksJson(*figures.mechanism));
  return json;
}

Json ReportJson(const std::optional<ReportFigures>& figures) {
  if (!figures) return nullptr;
  Json json;
  json["bytes_mean"] = figures->bytes_mean;
  json["entropy_bytes"] = figures->entropy_bytes;
  json["privatize_us_mean"] = OptionalJson(figures->privatize_us_mean);
  return json;
}

Json QualityJson(const std::optional<PosteriorQuality>& quality) {
  if (!quality) return nullptr;
  Json bins = Json::array();
  for (const PosteriorQuality::Bin& bin : quality->bins) {
    bins.push_back(
        {{"from", bin.from}, {"to", bin.to}, {"pairs", bin.pairs}, {"links", bin.links}, {"mean_p", bin.mean_p}});
  }
  return {{"log_likelihood", quality->log_likelihood}, {"auc", quality->auc}, {"bins", std::move(bins)}};
}

// What there is of one trial against the truth.
void AddTruth(const LinkFigures& links, Json& json) {
  json["mae"] = links.mae;
  json["true_positives"] = CountJson(links.true_positives);
  json["precision"] = OptionalJson(links.precision);
  json["recall"] = OptionalJson(links.recall);
  json["quality"] = QualityJson(links.quality);
}

Json TrialEstimateJson(const Trial& trial, const EstimateFigures& figures) {
  Json json = EstimateJson(*trial.estimates, trial.tie_seed, trial.seen);
  if (figures.attributed) AddTruth(figures.attributed->beta, json["beta"]);
  AddTruth(figures.links, json);
  if (figures.attributed) json["training"]["mae"] = figures.attributed->training_mae;
  json["trained_precision"] = OptionalJson(figures.trained_precision);
  json["trained_recall"] = OptionalJson(figures.trained_recall);
  json["degree_mae"] = figures.degree_mae;
  return json;
}

// The means of AddTruth, and how many links there are.
void AddMeanLinks(const LinkFigures& links, Json& json) {
  json["mae"] = links.mae;
  json["expected_links"] = links.expected_links;
  json["links"] = CountJson(links.links);
  json["true_positives"] = CountJson(links.true_positives);
  json["precision"] = OptionalJson(links.precision);
  json["recall"] = OptionalJson(links.recall);
}

void AddAttributed(const EstimateFigures::Attributed& figures, Json& json) {
  json["attributed_seconds"] = figures.seconds;
  json["network_rounds"] = CountJson(figures.network_rounds);
  json["left_out_links"] = figures.left_out_links;
  json["coefficients"] = Json::object();
  for (const auto& [feature, theta] : figures.coefficients) json["coefficients"][feature] = theta;
  json["training"] = {{"expected_links", figures.training_expected_links},
                      {"links", CountJson(figures.training_links)},
                      {"mae", figures.training_mae}};
  AddMeanLinks(figures.beta, json["beta"]);
  json["beta"]["quality"] = QualityJson(figures.beta.quality);
}

Json GainJson(const std::optional<LinkGain>& gain) {
  if (!gain) return nullptr;
  const LinkGain::Figures &estimate = gain->estimate, &plain = gain->plain;
  return {{"over", gain->over},
          {"plain", {{"log_likelihood", plain.log_likelihood}, {"auc", plain.auc}, {"mae", plain.mae}}},
          {"log_likelihood", estimate.log_likelihood - plain.log_likelihood},
          {"auc", estimate.auc - plain.auc},
          {"mae", plain.mae - estimate.mae}};
}

Json EstimatePart(const EstimateFigures& figures, const Simulation& simulation) {
  Json json;
  json["prior"] = PriorName(figures.prior);
  json["distinct_degrees"] = CountJson(figures.distinct_degrees);
  json["nodes_without_report"] = CountJson(figures.nodes_without_report);
  json["mle_exists"] = figures.mle_exists;
  json["mle_regularised"] = figures.mle_regularised;
  json["mle_seconds"] = figures.mle_seconds;
  json["mle_iterations"] = CountJson(figures.mle_iterations);
  json["mle_residual"] = figures.mle_residual;
  json["mle_degree_distance"] = figures.mle_degree_distance;
  json["denoise_seconds"] = figures.denoise_seconds;
  AddMeanLinks(figures.links, json);
  json["trained_links"] = OptionalCountJson(figures.trained_links);
  json["trained_weight"] = OptionalJson(figures.trained_weight);
  json["trained_precision"] = OptionalJson(figures.trained_precision);
  json["trained_recall"] = OptionalJson(figures.trained_recall);
  json["degree_mae"] = figures.degree_mae;
  json["quality"] = QualityJson(figures.links.quality);
  json["gain"] = GainJson(GainOf(figures, simulation.nodes, simulation.links));
  if (figures.attributed) AddAttributed(*figures.attributed, json);
  return json;
}

Json CandidateJson(const CandidateFigures& figures) {
  Json json = {{"name", figures.name}, {"trials", figures.trials}, {"chosen", figures.chosen}};
  if (!figures.skipped.empty()) json["skipped"] = figures.skipped;
  json["validation_loss"] = OptionalJson(figures.validation_loss);
  json["validation_accuracy"] = OptionalJson(figures.validation_accuracy);
  json["test_accuracy"] = OptionalJson(figures.test_accuracy);
  return json;
}

// A name that is empty stands for none.
Json NameOrNull(const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); }

void AddBounds(const BoundsFigures& bounds, Json& json) {
  json["features_only_accuracy_mean"] = OptionalJson(bounds.features_only_accuracy_mean);
  json["features_only_name"] = NameOrNull(bounds.features_only_name);
  if (!bounds.has_true_links) return;
  json["true_links_accuracy_mean"] = OptionalJson(bounds.true_links_accuracy_mean);
  json["true_links_name"] = bounds.true_links_name;
  json["recovered_mean"] = OptionalJson(bounds.recovered_mean);
  json["recovered_std"] = OptionalJson(bounds.recovered_std);
  json["recovered_note"] = NameOrNull(bounds.recovered_note);
}

Json TrainPart(const TrainFigures& figures, const std::optional<BoundsFigures>& bounds) {
  Json json;
  json["model"] = NameJson(figures.model, ModelName);
  json["prior"] = NameJson(figures.prior, PriorName);
  json["variant"] = NameJson(figures.variant, VariantName);
  json["device"] = OptionalJson(figures.device);
  json["threads"] = OptionalJson(figures.threads);
  json["epoch_ms_mean"] = OptionalJson(figures.epoch_ms_mean);
  json["test_accuracy_mean"] = figures.test_accuracy_mean;
  json["test_accuracy_std"] = OptionalJson(figures.test_accuracy_std);
  json["test_accuracy_std_is"] = kDeviationIs;
  json["validation_accuracy_mean"] = figures.validation_accuracy_mean;
  json["test_macro_f1_mean"] = figures.test_macro_f1_mean;
  json["test_roc_auc_mean"] = figures.test_roc_auc_mean;  // NaN becomes null
  if (bounds) AddBounds(*bounds, json);
  json["learning_rate"] = OptionalJson(figures.learning_rate);
  json["weight_decay"] = OptionalJson(figures.weight_decay);
  json["dropout"] = OptionalJson(figures.dropout);
  json["epochs"] = OptionalJson(figures.epochs);
  json["hidden"] = OptionalJson(figures.hidden);
  json["layers"] = OptionalJson(figures.layers);
  json["patience"] = OptionalJson(figures.patience);
  if (figures.batch_nodes.value_or(0) > 0) {
    json["batch_nodes"] = OptionalJson(figures.batch_nodes);
    json["fan_out"] = OptionalJson(figures.fan_out);
  }
  json["balance_classes"] = OptionalJson(figures.balance_classes);
  json["node_features"] = OptionalJson(figures.node_features);
  json["deterministic"] = OptionalJson(figures.deterministic);
  json["seed"] = figures.seed;
  if (!figures.candidates.empty()) {
    json["chosen"] = figures.chosen;
    json["candidates"] = Json::array();
    for (const CandidateFigures& candidate : figures.candidates) json["candidates"].push_back(CandidateJson(candidate));
  }
  json["warnings"] = figures.warnings;
  return json;
}

// `figures`: of its estimate; null where it has none.
Json TrialJson(const Trial& trial, const EstimateFigures* figures) {
  Json json;
  json["seed"] = trial.seed;
  json["report"] = ReportJson(trial.report);
  if (trial.mechanism) json["mechanism"] = LinksJson(*trial.mechanism);
  json["plausibility"] = trial.checks ? PlausibilityJson(*trial.checks) : Json(nullptr);
  json["estimate"] = figures != nullptr ? TrialEstimateJson(trial, *figures) : Json(nullptr);
  if (!trial.has_model()) {
    json["train"] = nullptr;
    return json;
  }
  json["train"] = TrainJson(trial.training, trial.trained);
  if (!trial.search.empty()) json["train"].update(SearchJson(trial.trained, trial.search, /*research=*/true));
  if (trial.features_only) json["train"].update(FeaturesOnlyJson(*trial.features_only, /*research=*/true));
  return json;
}

}  // namespace

nlohmann::ordered_json SimulationJson(const SimulationFigures& figures) {
  const Simulation& simulation = *figures.simulation;
  Json json;
  json["format"] = 1;
  json["program"] = ProgramJson();
  json["partial"] = simulation.partial();
  json["trials_asked"] = simulation.trials_asked;
  json["trials_done"] = simulation.trials.size();
  json["dataset"] = {{"name", simulation.dataset_name},
                     {"sha256", simulation.dataset_sha256},
                     {"attributes_sha256", simulation.attributes_sha256},
                     {"nodes", simulation.nodes},
                     {"links", simulation.links},
                     {"features", simulation.features},
                     {"classes", simulation.classes}};
  json["graph"] = simulation.given ? "given" : simulation.graph == SimulatedGraph::kTrue ? "true" : "blink";
  json["mechanism"] = MechanismPart(figures);
  if (simulation.given) {
    json["given_links"] = {{"links", simulation.given->links},
                           {"true_positives", simulation.given->true_positives},
                           {"weighted", simulation.given->weighted}};
  }
  json["split_seed"] = simulation.split_seed ? Json(*simulation.split_seed) : Json(nullptr);
  json["missing"] = simulation.missing;
  json["privacy"] = PrivacyPart(figures);
  json["report"] = ReportJson(figures.report);
  json["plausibility"] = figures.plausibility ? PlausibilityJson(*figures.plausibility) : Json(nullptr);
  json["estimate"] = figures.estimate ? EstimatePart(*figures.estimate, simulation) : Json(nullptr);
  json["train"] = figures.train ? TrainPart(*figures.train, figures.bounds) : Json(nullptr);
  json["memory_need_bytes"] = simulation.memory_need_bytes;
  json["peak_rss_bytes"] = figures.peak_rss_bytes;
  if (simulation.true_links) json["true_links"] = TrialJson(*simulation.true_links, nullptr);
  json["trials"] = Json::array();
  for (size_t t = 0; t < simulation.trials.size(); ++t) {
    json["trials"].push_back(
        TrialJson(simulation.trials[t], figures.estimates.empty() ? nullptr : &figures.estimates[t]));
  }
  return json;
}

}  // namespace blink
