#include "tools/simulate/text_report.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/cli/terminal.h"

namespace blink {
namespace {

constexpr size_t kValueColumn = 29;

std::string Entry(const std::string& name, const std::string& value) {
  return absl::StrFormat("  %-26s %s", name, value);
}

std::string Line(const std::string& name, const std::string& value) { return Entry(name, value) + "\n"; }

std::string Number(std::optional<double> value, const char* unit = "", int digits = 6) {
  return value ? absl::StrFormat("%.*g%s", digits, *value, unit) : "none";
}

std::string Percent(std::optional<double> value) {
  if (!value || std::isnan(*value)) return "none";  // no node to measure it on
  return absl::StrFormat("%.1f %%", 100 * *value);
}

std::string PrivacyLines(const SimulationFigures& figures) {
  std::string text = "Privacy\n";
  if (!figures.privacy) {
    if (figures.simulation->given) return text + Line("unknown", "the links of a file were used as they are (--links)");
    return text + Line("NONE", figures.simulation->graph == SimulatedGraph::kTrue
                                   ? "the true graph was used as it is"
                                   : "no link was used, and no report drawn");
  }
  const PrivacyFigures& privacy = *figures.privacy;
  const bool seeded = !privacy.is_private;
  if (seeded) text += Line("NONE", "NOT PRIVATE: the noise comes from a seed (--insecure-seeded-noise)");
  if (privacy.simulated && !seeded) {
    text += Line("simulated", "this process saw every list; cryptographic noise, as the nodes draw it");
  }
  const bool splits = FixedDegreeSharePpm(figures.simulation->mechanism) != 0u;
  text += Line("epsilon asked",
               !splits ? Number(privacy.epsilon)
                       : absl::StrFormat("%s (%s for the bits, %s for the degree)", Number(privacy.epsilon),
                                         Number(privacy.epsilon_list), Number(privacy.epsilon_degree)));
  text += Line("flip probability", Number(privacy.flip_probability));
  if (!seeded) {
    text += Line("achieved, per list entry", Number(privacy.achieved_epsilon, "", 10));
    const char* why = FactsOf(figures.simulation->mechanism).reports_once ? "  (one of its ends alone reports it)"
                                                                          : "  (it stands in two lists)";
    text += Line("achieved, per link", Number(privacy.achieved_epsilon_per_undirected_link, why, 10));
  }
  return text;
}

std::string ReportLines(const ReportFigures& report, double missing) {
  std::string text = "Reports (means)\n";
  if (missing > 0) text += Line("nodes that never report", Percent(missing));
  text += Line("bytes", Number(report.bytes_mean));
  text += Line("entropy, bytes", Number(report.entropy_bytes));
  if (report.privatize_us_mean) text += Line("time to privatise", Number(report.privatize_us_mean, " us", 4));
  return text;
}

std::string MechanismLines(const MechanismFigures& links) {
  return "Links (means)\n" +
         Line("links trained on", absl::StrFormat("%s; precision %s, recall %s", Number(links.links, "", 10),
                                                  Percent(links.precision), Percent(links.recall))) +
         Line("made in", Number(links.links_seconds, " s", 3));
}

std::string GivenLines(const GivenFigures& given, uint64_t true_links) {
  return "Links\n" + Line("links trained on",
                          absl::StrFormat("%d%s; %d of them are true, of %d that there are", given.links,
                                          given.weighted ? ", with weights" : "", given.true_positives, true_links));
}

std::string PlausibilityLines(const PlausibilityFigures& checks) {
  const auto smallest = [](const std::optional<uint32_t>& links) {
    return links ? Number(static_cast<double>(*links)) : Number(std::nullopt);
  };
  std::string text = "Plausibility (means)\n";
  text += Line("flagged, dropped", absl::StrFormat("%s of %s, %s (policy %s)", Number(checks.flagged),
                                                   Number(checks.tested), Number(checks.dropped), checks.policy));
  text += Line("smallest lie seen", absl::StrFormat("%s links in half the cases, %s in 95 %%",
                                                    smallest(checks.lie_seen_half), smallest(checks.lie_seen_95)));
  if (!checks.note.empty()) text += Line("note", checks.note);
  return text;
}

std::string TrainedLinksText(const EstimateFigures& estimate) {
  if (!estimate.trained_weight) return "none";  // a model that sees none, or not the same of all trials
  if (!estimate.trained_links) {
    return absl::StrCat("every pair, by its probability: ", Number(estimate.trained_weight, "", 10), " links in all");
  }
  return absl::StrFormat("%s, of weight %s in all; precision %s, recall %s", Number(estimate.trained_links, "", 10),
                         Number(estimate.trained_weight, "", 10), Percent(estimate.trained_precision),
                         Percent(estimate.trained_recall));
}

std::string AttributedLines(const EstimateFigures::Attributed& attributed) {
  std::string text =
      Line("attributed prior", absl::StrFormat("%s, %s rounds over the network", Number(attributed.seconds, " s", 3),
                                               Number(attributed.network_rounds)));
  for (const auto& [feature, theta] : attributed.coefficients) text += Line("  " + feature, Number(theta, "", 3));
  return text;
}

std::string GainLines(const LinkGain& gain) {
  const std::string plain = gain.over == "beta" ? "beta prior" : "the true share for every pair";
  const auto beside = [&](double of_estimate, double of_plain) {
    return absl::StrFormat("%s (%s: %s)", Number(of_estimate), plain, Number(of_plain));
  };
  return Line("log-likelihood of links", beside(gain.estimate.log_likelihood, gain.plain.log_likelihood)) +
         Line("AUC of links", beside(gain.estimate.auc, gain.plain.auc)) +
         Line("mean absolute error", beside(gain.estimate.mae, gain.plain.mae));
}

// "links trained on"; without a model "links of hybrid", which were asked for.
std::string NameOfSeenLinks(const Trial& trial) {
  return trial.has_model() ? "links trained on" : absl::StrCat("links of ", VariantName(*trial.trained.variant));
}

std::string EstimateLines(const EstimateFigures& estimate, const Simulation& simulation) {
  const LinkFigures& links = estimate.links;
  std::string text = "Estimate (means)\n";
  text += Line("expected links", Number(links.expected_links, "", 10));
  text += Line("links of Hard", absl::StrFormat("%s; precision %s, recall %s", Number(links.links, "", 10),
                                                Percent(links.precision), Percent(links.recall)));
  text += Line(NameOfSeenLinks(simulation.trials[0]), TrainedLinksText(estimate));
  const std::optional<LinkGain> gain = GainOf(estimate, simulation.nodes, simulation.links);
  text += gain ? GainLines(*gain) : Line("mean absolute error", Number(links.mae));
  text += Line("mean error of a degree", Number(estimate.degree_mae, "", 4));
  if (estimate.attributed) text += AttributedLines(*estimate.attributed);
  text += Line("distinct degrees", Number(estimate.distinct_degrees));
  text += Line("maximum likelihood",
               absl::StrFormat("%s in %s iterations, residual %s%s", Number(estimate.mle_seconds, " s", 3),
                               Number(estimate.mle_iterations, "", 4), Number(estimate.mle_residual, "", 2),
                               !estimate.mle_regularised ? ""
                               : estimate.mle_exists     ? "; regularised"
                                                         : "; NO FINITE SOLUTION: regularised"));
  text += Line("denoising", Number(estimate.denoise_seconds, " s", 3));
  return text;
}

// What the trials really trained: "gcn, hard"; "gcn", where no links were estimated; where a search chose differently
// "gcn, hard (2) and gat, soft (1)".
std::string WhatWasTrained(const std::vector<Trial>& trials) {
  std::vector<std::pair<std::string, int>> kinds;  // in the order of the trials
  for (const Trial& trial : trials) {
    std::string kind = ModelName(trial.trained.options.model);
    if (trial.trained.variant) absl::StrAppend(&kind, ", ", VariantName(*trial.trained.variant));
    const std::optional<Prior> prior = PriorTrainedOn(trial.trained);
    if (prior && trial.estimates && trial.estimates->prior() != *prior) {
      absl::StrAppend(&kind, ", of the ", PriorName(*prior), " prior");
    }
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

// "81.2 % +- 0.5 % (standard deviation over the trials)"; without a deviation for one trial.
std::string AccuracyText(const TrainFigures& train) {
  const std::string mean = Percent(train.test_accuracy_mean), deviation = Percent(train.test_accuracy_std);
  if (mean == "none") return "none: no node with a label is in the test split";
  return deviation == "none" ? mean : absl::StrCat(mean, " +- ", deviation, " (standard deviation over the trials)");
}

std::string BestOfTrialLines(const std::vector<Trial>& trials, size_t columns) {
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t t = 0; t < std::min(kShown, trials.size()); ++t) {
    const std::string name = absl::StrFormat("trial %d, best of %d", t + 1, trials[t].search.size());
    text += FoldToColumns(Entry(name, CandidateName(trials[t].trained)), columns, kValueColumn) + "\n";
  }
  return text;
}

// "gcn soft, ...   validation 80.0 %, ..." in one line where it fits, or the name and its figures each in their own.
std::string CandidateLine(const CandidateFigures& candidate, size_t trials, size_t columns) {
  constexpr size_t kIndent = 4, kHang = 8;
  const std::string figures = absl::StrFormat(
      "validation %s, loss %s; test %s; chosen %d of %d", Percent(candidate.validation_accuracy),
      Number(candidate.validation_loss, "", 3), Percent(candidate.test_accuracy), candidate.chosen, trials);
  const std::string line = absl::StrFormat("%*s%-60s %s", kIndent, "", candidate.name, figures);
  if (DisplayColumns(line) <= columns) return line + "\n";
  const auto part = [&](size_t indent, const std::string& text) {
    return FoldToColumns(std::string(indent, ' ') + text, columns, kHang) + "\n";
  };
  return part(kIndent, candidate.name) + part(kHang, figures);
}

// Of what the searches tried: what was chosen, the best of what was tried every time, and the MLP, which is the bound
// without links. The lowest loss is first.
std::string CandidateLines(const std::vector<CandidateFigures>& candidates, size_t trials, size_t columns) {
  constexpr size_t kShown = 12;
  std::vector<CandidateFigures> shown;
  for (const CandidateFigures& candidate : candidates) {
    if (static_cast<size_t>(candidate.trials) == trials || candidate.chosen > 0) shown.push_back(candidate);
  }
  std::stable_sort(shown.begin(), shown.end(), [](const CandidateFigures& a, const CandidateFigures& b) {
    return a.validation_loss < b.validation_loss;
  });
  std::string text;
  size_t lines = 0;
  for (size_t k = 0; k < shown.size(); ++k) {
    const CandidateFigures& candidate = shown[k];
    if (k >= kShown && candidate.chosen == 0 && !absl::StartsWith(candidate.name, "mlp")) continue;
    ++lines;
    text += CandidateLine(candidate, trials, columns);
  }
  if (const size_t more = candidates.size() - lines; more > 0)
    text += absl::StrFormat("    and %d more: --json lists them\n", more);
  return text;
}

std::string BoundsLines(const BoundsFigures& bounds) {
  const auto named = [](const std::optional<double>& accuracy, const std::string& name) {
    return name.empty() ? "none: no model could be trained on them" : absl::StrCat(Percent(accuracy), " (", name, ")");
  };
  std::string text = Line("  of features alone", named(bounds.features_only_accuracy_mean, bounds.features_only_name));
  if (!bounds.has_true_links) return text;
  text += Line("  on the true links", named(bounds.true_links_accuracy_mean, bounds.true_links_name));
  if (bounds.recovered_mean) {
    const std::string deviation = bounds.recovered_std ? absl::StrCat(" +- ", Percent(bounds.recovered_std),
                                                                      " (standard deviation over the draws)")
                                                       : " (one draw)";
    text += Line("  share recovered", absl::StrCat(Percent(bounds.recovered_mean), deviation));
  }
  if (!bounds.recovered_note.empty()) text += Line("  share recovered", bounds.recovered_note);
  return text;
}

std::string TrainLines(const TrainFigures& train, const std::optional<BoundsFigures>& bounds,
                       const std::vector<Trial>& trials, size_t columns) {
  std::string text = absl::StrFormat("Training (%d trial%s of %s)\n", trials.size(), trials.size() == 1 ? "" : "s",
                                     WhatWasTrained(trials));
  if (!train.candidates.empty()) {
    text += BestOfTrialLines(trials, columns) + CandidateLines(train.candidates, trials.size(), columns);
  }
  text += Line("test accuracy", AccuracyText(train));
  if (bounds) text += BoundsLines(*bounds);
  text += Line("test macro-F1", Percent(train.test_macro_f1_mean));
  text += Line("test ROC-AUC", Percent(train.test_roc_auc_mean));
  // The trials do not agree where one of them went on on the CPU.
  const std::string threads = train.threads ? absl::StrCat(*train.threads) : "several";
  const std::string epoch =
      train.epoch_ms_mean ? absl::StrCat(", ", Number(train.epoch_ms_mean, " ms", 3), " an epoch") : "";
  text += Line("device", absl::StrFormat("%s, %s threads%s", train.device.value_or("several devices"), threads, epoch));
  for (const std::string& warning : train.warnings) text += Line("warning", warning);
  return text;
}

std::string NoTrainingLines(const Simulation& simulation) {
  return "Training\n" + Line("none", simulation.has_labels
                                         ? "nothing was to be trained (--model none)"
                                         : "no node has a label, so nothing was trained (--model none)");
}

}  // namespace

std::string SimulationText(const SimulationFigures& figures, size_t columns) {
  const Simulation& simulation = *figures.simulation;
  std::string text =
      absl::StrFormat("Data set %s: %d nodes, %d links, %d features, %d classes\n", simulation.dataset_name,
                      simulation.nodes, simulation.links, simulation.features, simulation.classes);
  if (simulation.partial()) {
    text +=
        absl::StrFormat("PARTIAL: ended after %d of %d trials; all figures are of these%s\n", simulation.trials.size(),
                        simulation.trials_asked, simulation.bounds_asked ? ", without the true links" : "");
  }
  if (simulation.mechanism != MechanismKind::kBlink) {
    text += absl::StrCat("Mechanism ", FactsOf(simulation.mechanism).name, "\n");
  }
  text += PrivacyLines(figures);
  if (simulation.given) text += GivenLines(*simulation.given, simulation.links);
  if (simulation.trials.empty()) return text;
  if (figures.report) text += ReportLines(*figures.report, simulation.missing);
  if (figures.mechanism) text += MechanismLines(*figures.mechanism);
  if (figures.plausibility) text += PlausibilityLines(*figures.plausibility);
  if (figures.estimate) text += EstimateLines(*figures.estimate, simulation);
  text += figures.train ? TrainLines(*figures.train, figures.bounds, simulation.trials, columns)
                        : NoTrainingLines(simulation);
  text += Line("peak memory", absl::StrFormat("%.0f MB", static_cast<double>(figures.peak_rss_bytes) / 1e6));
  return text;
}

}  // namespace blink
