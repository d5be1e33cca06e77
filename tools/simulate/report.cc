#include "tools/simulate/report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace blink {
namespace {

using Json = nlohmann::ordered_json;

double MeanOf(const Simulation& simulation, const std::function<double(const Trial&)>& figure) {
  double sum = 0;
  for (const Trial& trial : simulation.trials) sum += figure(trial);
  return sum / static_cast<double>(simulation.trials.size());
}

// Null for one trial, which has none.
Json StandardDeviationOf(const Simulation& simulation, const std::function<double(const Trial&)>& figure) {
  if (simulation.trials.size() < 2) return nullptr;
  const double mean = MeanOf(simulation, figure);
  const double squares = MeanOf(simulation, [&](const Trial& trial) { return std::pow(figure(trial) - mean, 2); });
  const auto trials = static_cast<double>(simulation.trials.size());
  return std::sqrt(squares * trials / (trials - 1));
}

// A mean of counts is printed as a count where it is one.
Json Count(double value) { return value == std::floor(value) ? Json(static_cast<uint64_t>(value)) : Json(value); }

Json Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? Json(nullptr) : Json(static_cast<double>(part) / static_cast<double>(whole));
}

Json PrivacyPart(const Simulation& simulation) {
  Json json;
  if (!simulation.parameters) {  // no report was drawn: the true graph, or the MLP, which sees no link
    json["private"] = false;
    json["simulated"] = true;
    for (const char* key : {"noise", "epsilon", "degree_share", "epsilon_list", "epsilon_degree", "flip_probability",
                            "achieved_epsilon", "achieved_epsilon_per_undirected_link"}) {
      json[key] = nullptr;
    }
    return json;
  }
  return PrivacyJson(*simulation.parameters, *simulation.origin);
}

Json ReportJson(const ReportFigures& figures) {
  Json json;
  json["bytes_mean"] = figures.bytes_mean;
  json["entropy_bytes"] = figures.entropy_bytes;
  json["privatize_us_mean"] = figures.privatize_us_mean ? Json(*figures.privatize_us_mean) : Json(nullptr);
  return json;
}

Json ReportPart(const Simulation& simulation) {
  if (!simulation.trials[0].report) return nullptr;
  ReportFigures means;
  means.bytes_mean = MeanOf(simulation, [](const Trial& trial) { return trial.report->bytes_mean; });
  means.entropy_bytes = MeanOf(simulation, [](const Trial& trial) { return trial.report->entropy_bytes; });
  if (simulation.trials[0].report->privatize_us_mean) {
    means.privatize_us_mean = MeanOf(simulation, [](const Trial& trial) { return *trial.report->privatize_us_mean; });
  }
  return ReportJson(means);
}

Json PlausibilityPart(const Simulation& simulation) {
  if (!simulation.trials[0].checks) return nullptr;
  const auto mean = [&](const std::function<double(const Checks&)>& figure) {
    return Count(MeanOf(simulation, [&](const Trial& trial) { return figure(*trial.checks); }));
  };
  Json json = PlausibilityJson(*simulation.trials[0].checks);
  json.erase("flags");  // they are each trial's own
  json["flagged"] = mean([](const Checks& checks) { return static_cast<double>(checks.found.flagged.size()); });
  json["dropped"] = mean([](const Checks& checks) { return checks.dropped; });
  json["seconds"] = MeanOf(simulation, [](const Trial& trial) { return trial.checks->found.seconds; });
  for (const Trial& trial : simulation.trials) {
    if (!trial.checks->found.symmetric) json["symmetric"] = false;
    if (!trial.checks->found.note.empty()) json["note"] = trial.checks->found.note;
  }
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

// Against the truth; `links` of the estimate, of which `true_positives` are.
void TellTruth(double mae, uint64_t true_positives, uint64_t links, uint64_t true_links,
               const std::optional<PosteriorQuality>& quality, Json& json) {
  json["mae"] = mae;
  json["true_positives"] = true_positives;
  json["precision"] = Share(true_positives, links);
  json["recall"] = Share(true_positives, true_links);
  json["quality"] = QualityJson(quality);
}

Json TrialEstimateJson(const Trial& trial, uint64_t true_links) {
  const LinkEstimate& beta = *trial.estimate;
  Json json = EstimateJson(beta, trial.attributed, trial.tie_seed, trial.seen);
  Json& of_beta = trial.attributed ? json["beta"] : json;
  TellTruth(beta.mae, beta.true_positives, beta.links().link_count(), true_links, beta.quality, of_beta);
  if (trial.attributed) {
    const AttributedPosterior& links = trial.attributed->links;
    TellTruth(links.mae, links.true_positives, links.hard.links.link_count(), true_links, links.quality, json);
    json["training"]["mae"] = trial.attributed->training.mae;
  }
  const bool has_links = trial.trained_true_positives.has_value();
  json["trained_precision"] =
      has_links ? Share(*trial.trained_true_positives, json["trained_links"].get<uint64_t>()) : Json(nullptr);
  json["trained_recall"] = has_links ? Share(*trial.trained_true_positives, true_links) : Json(nullptr);
  return json;
}

// The mean over the trials of the number at `path`; null where one of them has no value.
Json MeanAt(const Json& trials, const std::string& path) {
  const Json::json_pointer at(path);
  double sum = 0;
  for (const Json& trial : trials) {
    if (!trial.contains(at) || trial.at(at).is_null()) return nullptr;
    sum += trial.at(at).get<double>();
  }
  return sum / static_cast<double>(trials.size());
}

Json CountAt(const Json& trials, const std::string& path) {
  const Json mean = MeanAt(trials, path);
  return mean.is_null() ? mean : Count(mean.get<double>());
}

// Means, and the bins of all trials together.
Json MeanQuality(const Json& trials, const std::string& path) {
  const Json::json_pointer at(path);
  Json bins;
  for (const Json& trial : trials) {
    if (!trial.contains(at) || trial.at(at).is_null()) return nullptr;
    const Json& of_trial = trial.at(at)["bins"];
    if (bins.is_null()) {
      bins = of_trial;
      continue;
    }
    for (size_t k = 0; k < std::min(bins.size(), of_trial.size()); ++k) {
      Json& bin = bins[k];
      const double before = bin["pairs"].get<double>(), more = of_trial[k]["pairs"].get<double>();
      const double sum = bin["mean_p"].get<double>() * before + of_trial[k]["mean_p"].get<double>() * more;
      bin["mean_p"] = before + more > 0 ? sum / (before + more) : 0;
      for (const char* key : {"pairs", "links"}) bin[key] = bin[key].get<uint64_t>() + of_trial[k][key].get<uint64_t>();
    }
  }
  return {{"log_likelihood", MeanAt(trials, path + "/log_likelihood")},
          {"auc", MeanAt(trials, path + "/auc")},
          {"bins", std::move(bins)}};
}

// What TellTruth says, of all trials together; `of` "/estimate", or "/estimate/beta".
void TellMeanTruth(const Json& trials, const std::string& of, uint64_t true_links, Json& json) {
  uint64_t links = 0, true_positives = 0;
  for (const Json& trial : trials) {
    links += trial.at(Json::json_pointer(of + "/links")).get<uint64_t>();
    true_positives += trial.at(Json::json_pointer(of + "/true_positives")).get<uint64_t>();
  }
  json["mae"] = MeanAt(trials, of + "/mae");
  json["expected_links"] = MeanAt(trials, of + "/expected_links");
  json["links"] = CountAt(trials, of + "/links");
  json["true_positives"] = CountAt(trials, of + "/true_positives");
  json["precision"] = Share(true_positives, links);
  json["recall"] = Share(true_positives, true_links * trials.size());
}

// What there is of the attributed prior alone.
void TellAttributed(const Simulation& simulation, const Json& trials, Json& json) {
  const std::string of = "/estimate/";
  json["attributed_seconds"] = MeanAt(trials, of + "attributed_seconds");
  json["network_rounds"] = CountAt(trials, of + "network_rounds");
  json["left_out_links"] = MeanAt(trials, of + "left_out_links");
  json["coefficients"] = Json::object();
  for (const auto& [feature, theta] : trials[0]["estimate"]["coefficients"].items()) {
    double sum = 0;
    for (const Json& trial : trials) sum += trial["estimate"]["coefficients"].value(feature, 0.0);
    json["coefficients"][feature] = sum / static_cast<double>(trials.size());
  }
  json["training"] = {{"expected_links", MeanAt(trials, of + "training/expected_links")},
                      {"links", CountAt(trials, of + "training/links")},
                      {"mae", MeanAt(trials, of + "training/mae")}};
  TellMeanTruth(trials, "/estimate/beta", simulation.links, json["beta"]);
  json["beta"]["quality"] = MeanQuality(trials, "/estimate/beta/quality");
}

Json EstimatePart(const Simulation& simulation, const Json& trials) {
  if (!simulation.trials[0].estimate) return nullptr;
  double residual_max = 0, distance_max = 0;
  bool exists = true, regularised = false;
  for (const Trial& trial : simulation.trials) {
    exists &= trial.estimate->mle.exists;
    residual_max = std::max(residual_max, trial.estimate->mle.residual);
    distance_max = std::max(distance_max, trial.estimate->mle.distance);
    regularised |= trial.estimate->mle.regularised;
  }
  Json json;
  json["prior"] = trials[0]["estimate"]["prior"];
  json["distinct_degrees"] = CountAt(trials, "/estimate/distinct_degrees");
  json["nodes_without_report"] = CountAt(trials, "/estimate/nodes_without_report");
  json["mle_exists"] = exists;
  json["mle_regularised"] = regularised;
  json["mle_seconds"] = MeanAt(trials, "/estimate/mle_seconds");
  json["mle_iterations"] = CountAt(trials, "/estimate/mle_iterations");
  json["mle_residual"] = residual_max;
  json["mle_degree_distance"] = distance_max;
  json["denoise_seconds"] = MeanAt(trials, "/estimate/denoise_seconds");
  TellMeanTruth(trials, "/estimate", simulation.links, json);
  json["trained_links"] = CountAt(trials, "/estimate/trained_links");
  for (const char* key : {"trained_weight", "trained_precision", "trained_recall"}) {
    json[key] = MeanAt(trials, absl::StrCat("/estimate/", key));
  }
  json["quality"] = MeanQuality(trials, "/estimate/quality");
  if (simulation.trials[0].attributed) TellAttributed(simulation, trials, json);
  return json;
}

// Of a search in every trial: which candidate was chosen most often, and of every candidate how it did where it was
// trained.
void TellSearches(const Json& trials, Json& json) {
  const std::vector<const char*> figures = {"validation_loss", "validation_accuracy", "test_accuracy"};
  std::vector<Json> found;  // in the order of the trials; sums at first
  const auto entry_of = [&](const std::string& name) -> Json& {
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const Json& entry) { return entry["name"] == name; });
    if (same != found.end()) return *same;
    return found.emplace_back(Json{{"name", name}, {"trials", 0}, {"chosen", 0}});
  };
  for (const Json& trial : trials) {
    const Json& train = trial["train"];
    if (!train.contains("candidates")) return;
    for (const Json& candidate : train["candidates"]) {
      Json& entry = entry_of(candidate["name"].get<std::string>());
      if (candidate.contains("skipped")) {
        if (!entry.contains("skipped"))
          entry["skipped"] = candidate["skipped"];  // in the first trial of those that skipped it
        continue;
      }
      entry["trials"] = entry["trials"].get<int>() + 1;
      for (const char* figure : figures) entry[figure] = entry.value(figure, 0.0) + candidate[figure].get<double>();
    }
    Json& chosen = entry_of(train["chosen"].get<std::string>());
    chosen["chosen"] = chosen["chosen"].get<int>() + 1;
  }
  for (Json& entry : found) {
    for (const char* figure : figures) {
      const int times = entry["trials"].get<int>();
      entry[figure] = times > 0 ? Json(entry.value(figure, 0.0) / times) : Json(nullptr);
    }
  }
  const auto most = std::max_element(found.begin(), found.end(), [](const Json& a, const Json& b) {
    return a["chosen"].get<int>() < b["chosen"].get<int>();
  });
  json["chosen"] = (*most)["name"];
  json["candidates"] = found;
}

// Figures are means; of a hyper-parameter on which the trials do not agree (a search may choose anew in each) null.
Json TrainPart(const Simulation& simulation, const Json& trials) {
  const auto test_accuracy = [](const Trial& trial) { return trial.training.test_accuracy; };
  const auto agreed = [&](const char* key) {
    const Json& first = trials[0]["train"][key];
    for (const Json& trial : trials) {
      if (trial["train"][key] != first) return Json(nullptr);
    }
    return first;
  };
  Json json;
  for (const char* key : {"model", "prior", "variant", "device", "threads"}) json[key] = agreed(key);
  json["epoch_ms_mean"] = MeanAt(trials, "/train/epoch_ms_mean");
  json["test_accuracy_mean"] = MeanOf(simulation, test_accuracy);
  json["test_accuracy_std"] = StandardDeviationOf(simulation, test_accuracy);
  json["validation_accuracy_mean"] =
      MeanOf(simulation, [](const Trial& trial) { return trial.training.validation_accuracy; });
  json["test_macro_f1_mean"] = MeanOf(simulation, [](const Trial& trial) { return trial.training.test.macro_f1; });
  for (const char* key : {"learning_rate", "weight_decay", "dropout", "epochs", "hidden", "layers", "patience",
                          "balance_classes", "node_features", "deterministic"}) {
    json[key] = agreed(key);
  }
  json["seed"] = simulation.trials[0].seed;
  TellSearches(trials, json);
  // Of all trials, each sentence once.
  json["warnings"] = Json::array();
  for (const Trial& trial : simulation.trials) {
    for (const std::string& warning : trial.training.warnings) {
      if (std::find(json["warnings"].begin(), json["warnings"].end(), Json(warning)) == json["warnings"].end()) {
        json["warnings"].push_back(warning);
      }
    }
  }
  return json;
}

std::string Line(const std::string& name, const std::string& value) {
  return absl::StrFormat("  %-26s %s\n", name, value);
}

std::string Number(const Json& value, const char* unit = "", int digits = 6) {
  if (value.is_null()) return "none";
  return absl::StrFormat("%.*g%s", digits, value.get<double>(), unit);
}

std::string Percent(const Json& value) {
  if (value.is_null() || std::isnan(value.get<double>())) return "none";  // no node to measure it on
  return absl::StrFormat("%.1f %%", 100 * value.get<double>());
}

std::string PrivacyLines(const Json& json) {
  const Json& privacy = json["privacy"];
  std::string text = "Privacy\n";
  if (json["report"].is_null()) {
    return text + Line("NONE", json["graph"] == "true" ? "the true graph was used as it is"
                                                       : "no link was used, and no report drawn");
  }
  const bool seeded = privacy["noise"] == "seeded";
  if (seeded) text += Line("NONE", "NOT PRIVATE: the noise comes from a seed (--insecure-seeded-noise)");
  if (privacy["simulated"].get<bool>() && !seeded) {
    text += Line("simulated", "this process saw every list; cryptographic noise, as the nodes draw it");
  }
  text += Line("epsilon asked", absl::StrFormat("%s (%s for the bits, %s for the degree)", Number(privacy["epsilon"]),
                                                Number(privacy["epsilon_list"]), Number(privacy["epsilon_degree"])));
  text += Line("flip probability", Number(privacy["flip_probability"]));
  if (!seeded) {
    text += Line("achieved, per list entry", Number(privacy["achieved_epsilon"], "", 10));
    text += Line("achieved, per link",
                 Number(privacy["achieved_epsilon_per_undirected_link"], "  (it stands in two lists)", 10));
  }
  return text;
}

Json TrialJson(const Trial& trial, uint64_t true_links) {
  Json json;
  json["seed"] = trial.seed;
  json["report"] = trial.report ? ReportJson(*trial.report) : Json(nullptr);
  json["plausibility"] = trial.checks ? PlausibilityJson(*trial.checks) : Json(nullptr);
  json["estimate"] = trial.estimate ? TrialEstimateJson(trial, true_links) : Json(nullptr);
  json["train"] = TrainJson(trial.training, trial.trained);
  if (!trial.search.empty()) json["train"].update(SearchJson(trial.trained, trial.search, /*research=*/true));
  return json;
}

// What the trials really trained: "gcn, hard"; "gcn", where no links were estimated; where a search chose differently
// "gcn, hard (2) and gat, soft (1)".
std::string WhatWasTrained(const Json& trials) {
  std::vector<std::pair<std::string, int>> kinds;  // in the order of the trials
  for (const Json& trial : trials) {
    const Json& train = trial["train"];
    std::string kind = train["model"].get<std::string>();
    if (!train["variant"].is_null()) absl::StrAppend(&kind, ", ", train["variant"].get<std::string>());
    const bool of_other_prior =
        !train["prior"].is_null() && trial["estimate"].is_object() && trial["estimate"]["prior"] != train["prior"];
    if (of_other_prior) absl::StrAppend(&kind, ", of the ", train["prior"].get<std::string>(), " prior");
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& entry) { return entry.first == kind; });
    if (same == kinds.end())
      kinds.emplace_back(kind, 1);
    else
      ++same->second;
  }
  if (kinds.size() == 1) return kinds[0].first;
  return absl::StrJoin(kinds, " and ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (", entry.second, ")");
  });
}

// "81.2 % +- 0.5 %"; without a deviation for one trial, and "none" where there is no test node.
std::string Accuracy(const Json& train) {
  const std::string mean = Percent(train["test_accuracy_mean"]), deviation = Percent(train["test_accuracy_std"]);
  return mean == "none" || deviation == "none" ? mean : absl::StrCat(mean, " +- ", deviation);
}

std::string TrainedLinksText(const Json& estimate) {
  if (estimate["trained_weight"].is_null()) return "none";  // a model that sees none, or not the same of all trials
  if (estimate["trained_links"].is_null()) {
    return absl::StrCat("every pair, by its probability: ", Number(estimate["trained_weight"], "", 10),
                        " links in all");
  }
  return absl::StrFormat("%s, of weight %s in all; precision %s, recall %s", Number(estimate["trained_links"], "", 10),
                         Number(estimate["trained_weight"], "", 10), Percent(estimate["trained_precision"]),
                         Percent(estimate["trained_recall"]));
}

std::string AttributedLines(const Json& estimate) {
  std::string text = Line("of the beta prior", Number(estimate["beta"]["mae"]));
  text += Line("attributed prior",
               absl::StrFormat("%s, %s rounds over the network", Number(estimate["attributed_seconds"], " s", 3),
                               Number(estimate["network_rounds"])));
  for (const auto& [feature, theta] : estimate["coefficients"].items())
    text += Line("  " + feature, Number(theta, "", 3));
  return text;
}

// Of what the searches tried what was chosen, the best of what was tried every time, and the MLP, which is the bound
// without links; the lowest loss first.
std::string CandidateLines(const Json& train, size_t trials) {
  constexpr size_t kShown = 12;
  std::vector<Json> shown;
  for (const Json& entry : train["candidates"]) {
    if (entry["trials"] == trials || entry["chosen"] > 0) shown.push_back(entry);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const Json& a, const Json& b) { return a["validation_loss"] < b["validation_loss"]; });
  std::string text;
  size_t lines = 0;
  for (size_t k = 0; k < shown.size(); ++k) {
    const Json& entry = shown[k];
    const auto name = entry["name"].get<std::string>();
    if (k >= kShown && entry["chosen"] == 0 && name.rfind("mlp", 0) != 0) continue;
    ++lines;
    text += absl::StrFormat("    %-60s validation %s, loss %s; test %s; chosen %d of %d\n", name,
                            Percent(entry["validation_accuracy"]), Number(entry["validation_loss"], "", 3),
                            Percent(entry["test_accuracy"]), entry["chosen"].get<int>(), trials);
  }
  if (const size_t more = train["candidates"].size() - lines; more > 0)
    text += absl::StrFormat("    and %d more: --json lists them\n", more);
  return text;
}

}  // namespace

Json SimulationJson(const Simulation& simulation, uint64_t peak_rss_bytes) {
  Json json;
  json["dataset"] = {{"name", simulation.dataset_name},
                     {"nodes", simulation.nodes},
                     {"links", simulation.links},
                     {"features", simulation.features},
                     {"classes", simulation.classes}};
  json["graph"] = simulation.graph == SimulatedGraph::kTrue ? "true" : "blink";
  json["missing"] = simulation.missing;
  json["privacy"] = PrivacyPart(simulation);
  json["report"] = ReportPart(simulation);
  json["plausibility"] = PlausibilityPart(simulation);
  Json trials = Json::array();
  for (const Trial& trial : simulation.trials) trials.push_back(TrialJson(trial, simulation.links));
  json["estimate"] = EstimatePart(simulation, trials);
  json["train"] = TrainPart(simulation, trials);
  json["peak_rss_bytes"] = peak_rss_bytes;
  json["trials"] = std::move(trials);
  return json;
}

std::string SimulationTable(const Json& json) {
  const Json& dataset = json["dataset"];
  std::string text =
      absl::StrFormat("Data set %s: %d nodes, %d links, %d features, %d classes\n", dataset["name"].get<std::string>(),
                      dataset["nodes"].get<uint64_t>(), dataset["links"].get<uint64_t>(),
                      dataset["features"].get<uint64_t>(), dataset["classes"].get<uint64_t>());
  text += PrivacyLines(json);
  if (const Json& report = json["report"]; !report.is_null()) {
    text += "Reports (means)\n";
    if (json["missing"].get<double>() > 0) text += Line("nodes that never report", Percent(json["missing"]));
    text += Line("bytes", Number(report["bytes_mean"]));
    text += Line("entropy, bytes", Number(report["entropy_bytes"]));
    if (!report["privatize_us_mean"].is_null())
      text += Line("time to privatise", Number(report["privatize_us_mean"], " us", 4));
  }
  if (const Json& checks = json["plausibility"]; !checks.is_null()) {
    text += "Plausibility (means)\n";
    text += Line("flagged, dropped",
                 absl::StrFormat("%s of %s, %s (policy %s)", Number(checks["flagged"]), Number(checks["tested"]),
                                 Number(checks["dropped"]), checks["policy"].get<std::string>()));
    text += Line("smallest lie seen", absl::StrFormat("%s links in half the cases, %s in 95 %%",
                                                      Number(checks["lie_seen_half"]), Number(checks["lie_seen_95"])));
    if (!checks["note"].is_null()) text += Line("note", checks["note"].get<std::string>());
  }
  if (const Json& estimate = json["estimate"]; !estimate.is_null()) {
    text += "Estimate (means)\n";
    text += Line("expected links", Number(estimate["expected_links"], "", 10));
    text += Line("links of Hard", absl::StrFormat("%s; precision %s, recall %s", Number(estimate["links"], "", 10),
                                                  Percent(estimate["precision"]), Percent(estimate["recall"])));
    text += Line("links trained on", TrainedLinksText(estimate));
    text += Line("mean absolute error", Number(estimate["mae"]));
    if (estimate["prior"] == "attributed") text += AttributedLines(estimate);
    text += Line("distinct degrees", Number(estimate["distinct_degrees"]));
    text += Line("maximum likelihood",
                 absl::StrFormat("%s in %s iterations, residual %s%s", Number(estimate["mle_seconds"], " s", 3),
                                 Number(estimate["mle_iterations"], "", 4), Number(estimate["mle_residual"], "", 2),
                                 !estimate["mle_regularised"].get<bool>() ? ""
                                 : estimate["mle_exists"].get<bool>()     ? "; regularised"
                                                                          : "; NO FINITE SOLUTION: regularised"));
    text += Line("denoising", Number(estimate["denoise_seconds"], " s", 3));
  }
  const Json& train = json["train"];
  const size_t trials = json["trials"].size();
  text +=
      absl::StrFormat("Training (%d trial%s of %s)\n", trials, trials == 1 ? "" : "s", WhatWasTrained(json["trials"]));
  if (json["trials"][0]["train"].contains("chosen")) {
    constexpr size_t kShown = 10;
    for (size_t t = 0; t < std::min(kShown, json["trials"].size()); ++t) {
      const Json& trial = json["trials"][t]["train"];
      text += Line(absl::StrFormat("trial %d, best of %d", t + 1, trial["candidates"].size()),
                   trial["chosen"].get<std::string>());
    }
    text += CandidateLines(train, trials);
  }
  text += Line("test accuracy", Accuracy(train));
  text += Line("test macro-F1", Percent(train["test_macro_f1_mean"]));
  // Null where the trials do not agree: one of them went on on the CPU.
  const std::string device = train["device"].is_null() ? "several devices" : train["device"].get<std::string>();
  const std::string threads = train["threads"].is_null() ? "several" : absl::StrCat(train["threads"].get<int>());
  const Json& epoch = train["epoch_ms_mean"];  // null where a trial's model is no network
  text +=
      Line("device", absl::StrFormat("%s, %s threads%s", device, threads,
                                     epoch.is_null() ? "" : absl::StrCat(", ", Number(epoch, " ms", 3), " an epoch")));
  for (const Json& warning : train["warnings"]) text += Line("warning", warning.get<std::string>());
  text += Line("peak memory", absl::StrFormat("%.0f MB", json["peak_rss_bytes"].get<double>() / 1e6));
  return text;
}

}  // namespace blink
