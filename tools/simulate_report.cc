#include "tools/simulate_report.h"

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

Json TrialEstimateJson(const Trial& trial, uint64_t true_links) {
  const LinkEstimate& estimate = *trial.estimate;
  Json json = EstimateJson(estimate, trial.tie_seed, trial.trained);
  json["mae"] = estimate.mae;
  json["true_positives"] = estimate.true_positives;
  json["precision"] = Share(estimate.true_positives, estimate.links().link_count());
  json["recall"] = Share(estimate.true_positives, true_links);
  const bool has_links = trial.trained_true_positives.has_value();
  json["trained_precision"] =
      has_links ? Share(*trial.trained_true_positives, json["trained_links"].get<uint64_t>()) : Json(nullptr);
  json["trained_recall"] = has_links ? Share(*trial.trained_true_positives, true_links) : Json(nullptr);
  return json;
}

// The mean over the trials; null where one of them has no value.
Json MeanOfKey(const Json& trials, const char* key) {
  double sum = 0;
  for (const Json& trial : trials) {
    const Json& value = trial["estimate"][key];
    if (value.is_null()) return nullptr;
    sum += value.get<double>();
  }
  return sum / static_cast<double>(trials.size());
}

Json EstimatePart(const Simulation& simulation, const Json& trials) {
  if (!simulation.trials[0].estimate) return nullptr;
  const auto mean = [&](const std::function<double(const LinkEstimate&)>& figure) {
    return MeanOf(simulation, [&](const Trial& trial) { return figure(*trial.estimate); });
  };
  uint64_t links = 0, true_positives = 0, trials_without_mle = 0;
  double residual_max = 0, distance_max = 0;
  bool regularised = false;
  for (const Trial& trial : simulation.trials) {
    links += trial.estimate->links().link_count();
    true_positives += trial.estimate->true_positives;
    trials_without_mle += trial.estimate->mle.exists ? 0 : 1;
    residual_max = std::max(residual_max, trial.estimate->mle.residual);
    distance_max = std::max(distance_max, trial.estimate->mle.distance);
    regularised |= trial.estimate->mle.regularised;
  }
  Json json;
  json["distinct_degrees"] = Count(mean([](const LinkEstimate& e) { return e.distinct_degrees; }));
  json["nodes_without_report"] = Count(mean([](const LinkEstimate& e) { return e.nodes_without_report; }));
  json["mle_exists"] = trials_without_mle == 0;
  json["mle_regularised"] = regularised;
  json["mle_seconds"] = mean([](const LinkEstimate& e) { return e.mle.seconds; });
  json["mle_iterations"] = Count(mean([](const LinkEstimate& e) { return e.mle.iterations; }));
  json["mle_residual"] = residual_max;
  json["mle_degree_distance"] = distance_max;
  json["denoise_seconds"] = mean([](const LinkEstimate& e) { return e.denoise_seconds; });
  json["mae"] = mean([](const LinkEstimate& e) { return e.mae; });
  json["expected_links"] = mean([](const LinkEstimate& e) { return e.expected_links; });
  json["links"] = Count(mean([](const LinkEstimate& e) { return static_cast<double>(e.links().link_count()); }));
  json["true_positives"] = Count(mean([](const LinkEstimate& e) { return static_cast<double>(e.true_positives); }));
  json["precision"] = Share(true_positives, links);
  json["recall"] = Share(true_positives, simulation.links * simulation.trials.size());
  const Json trained_links = MeanOfKey(trials, "trained_links");
  json["trained_links"] = trained_links.is_null() ? trained_links : Count(trained_links.get<double>());
  for (const char* key : {"trained_weight", "trained_precision", "trained_recall"}) json[key] = MeanOfKey(trials, key);
  return json;
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
  for (const char* key : {"model", "variant", "device", "threads"}) json[key] = agreed(key);
  json["epoch_ms_mean"] = MeanOf(simulation, [](const Trial& trial) { return trial.training.epoch_ms_mean; });
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

std::string Line(const std::string& name, const std::string& value) { return absl::StrFormat("  %-26s %s\n", name, value); }

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
  text += Line("epsilon asked", absl::StrFormat("%s (%s for the list, %s for the degree)", Number(privacy["epsilon"]),
                                                Number(privacy["epsilon_list"]), Number(privacy["epsilon_degree"])));
  text += Line("flip probability", Number(privacy["flip_probability"]));
  if (!seeded) {
    text += Line("achieved, per list entry", Number(privacy["achieved_epsilon"], "", 10));
    text += Line("achieved, per link", Number(privacy["achieved_epsilon_per_undirected_link"], "  (it stands in two lists)", 10));
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
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& entry) { return entry.first == kind; });
    if (same == kinds.end()) kinds.emplace_back(kind, 1);
    else ++same->second;
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
    return absl::StrCat("every pair, by its probability: ", Number(estimate["trained_weight"], "", 10), " links in all");
  }
  return absl::StrFormat("%s, of weight %s in all; precision %s, recall %s", Number(estimate["trained_links"], "", 10),
                         Number(estimate["trained_weight"], "", 10), Percent(estimate["trained_precision"]),
                         Percent(estimate["trained_recall"]));
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
  std::string text = absl::StrFormat("Data set %s: %d nodes, %d links, %d features, %d classes\n",
                                     dataset["name"].get<std::string>(), dataset["nodes"].get<uint64_t>(),
                                     dataset["links"].get<uint64_t>(), dataset["features"].get<uint64_t>(),
                                     dataset["classes"].get<uint64_t>());
  text += PrivacyLines(json);
  if (const Json& report = json["report"]; !report.is_null()) {
    text += "Reports (means)\n";
    if (json["missing"].get<double>() > 0) text += Line("nodes that never report", Percent(json["missing"]));
    text += Line("bytes", Number(report["bytes_mean"]));
    text += Line("entropy, bytes", Number(report["entropy_bytes"]));
    if (!report["privatize_us_mean"].is_null()) text += Line("time to privatise", Number(report["privatize_us_mean"], " us", 4));
  }
  if (const Json& checks = json["plausibility"]; !checks.is_null()) {
    text += "Plausibility (means)\n";
    text += Line("flagged, dropped", absl::StrFormat("%s of %s, %s (policy %s)", Number(checks["flagged"]), Number(checks["tested"]),
                                                     Number(checks["dropped"]), checks["policy"].get<std::string>()));
    text += Line("smallest lie seen", absl::StrFormat("%s links in half the cases, %s in 95 %%", Number(checks["lie_seen_half"]),
                                                      Number(checks["lie_seen_95"])));
    if (!checks["note"].is_null()) text += Line("note", checks["note"].get<std::string>());
  }
  if (const Json& estimate = json["estimate"]; !estimate.is_null()) {
    text += "Estimate (means)\n";
    text += Line("expected links", Number(estimate["expected_links"], "", 10));
    text += Line("links of Hard", absl::StrFormat("%s; precision %s, recall %s", Number(estimate["links"], "", 10),
                                                  Percent(estimate["precision"]), Percent(estimate["recall"])));
    text += Line("links trained on", TrainedLinksText(estimate));
    text += Line("mean absolute error", Number(estimate["mae"]));
    text += Line("distinct degrees", Number(estimate["distinct_degrees"]));
    text += Line("maximum likelihood", absl::StrFormat("%s in %s iterations, residual %s%s", Number(estimate["mle_seconds"], " s", 3),
                                                       Number(estimate["mle_iterations"], "", 4),
                                                       Number(estimate["mle_residual"], "", 2),
                                                       !estimate["mle_regularised"].get<bool>() ? ""
                                                       : estimate["mle_exists"].get<bool>() ? "; regularised"
                                                                                            : "; NO FINITE SOLUTION: regularised"));
    text += Line("denoising", Number(estimate["denoise_seconds"], " s", 3));
  }
  const Json& train = json["train"];
  const size_t trials = json["trials"].size();
  text += absl::StrFormat("Training (%d trial%s of %s)\n", trials, trials == 1 ? "" : "s", WhatWasTrained(json["trials"]));
  if (json["trials"][0]["train"].contains("chosen")) {
    constexpr size_t kShown = 10;
    for (size_t t = 0; t < std::min(kShown, json["trials"].size()); ++t) {
      const Json& trial = json["trials"][t]["train"];
      text += Line(absl::StrFormat("trial %d, best of %d", t + 1, trial["candidates"].size()),
                   trial["chosen"].get<std::string>());
    }
  }
  text += Line("test accuracy", Accuracy(train));
  text += Line("test macro-F1", Percent(train["test_macro_f1_mean"]));
  // Null where the trials do not agree: one of them went on on the CPU.
  const std::string device = train["device"].is_null() ? "several devices" : train["device"].get<std::string>();
  const std::string threads = train["threads"].is_null() ? "several" : absl::StrCat(train["threads"].get<int>());
  text += Line("device", absl::StrFormat("%s, %s threads, %s an epoch", device, threads, Number(train["epoch_ms_mean"], " ms", 3)));
  for (const Json& warning : train["warnings"]) text += Line("warning", warning.get<std::string>());
  text += Line("peak memory", absl::StrFormat("%.0f MB", json["peak_rss_bytes"].get<double>() / 1e6));
  return text;
}

}  // namespace blink
