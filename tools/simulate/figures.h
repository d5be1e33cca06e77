// The figures of a simulation: those of each trial, compared with the true graph, and their means over the trials.
// json_report.h and text_report.h write them.
//
//   const SimulationFigures figures = FiguresOf(simulation, PeakRssBytes());
//   ... SimulationJson(figures) ... SimulationText(figures, columns) ...
#ifndef BLINK_TOOLS_SIMULATE_FIGURES_H_
#define BLINK_TOOLS_SIMULATE_FIGURES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/posterior_quality.h"
#include "aggregator_server/result/metrics_json.h"
#include "tools/simulate/bounds.h"
#include "tools/simulate/run.h"

namespace blink {

// Links of an estimate against the true ones. Counts are of one trial, or means over several.
struct LinkFigures {
  double expected_links = 0, links = 0, true_positives = 0;
  double mae = 0;                           // mean of |P - A| over all n^2 entries
  std::optional<double> precision, recall;  // of all trials together; absent where nothing is divided by
  std::optional<PosteriorQuality> quality;  // the bins of all trials together
};

struct EstimateFigures {
  Prior prior = Prior::kBeta;
  LinkFigures links;  // of `prior`, by its best guess

  // Of the beta-model, whatever the prior.
  double distinct_degrees = 0, nodes_without_report = 0;
  bool mle_exists = true;        // in every trial
  bool mle_regularised = false;  // in some trial
  double mle_seconds = 0, mle_iterations = 0;
  double mle_residual = 0;         // the largest
  double mle_degree_distance = 0;  // the largest
  double denoise_seconds = 0;
  double degree_mae = 0;  // of the estimated degrees, whatever the prior

  // Of the links that the model saw, or of those asked for without a model. Absent where a trial has no such figure: it
  // weighs every pair, or sees none.
  std::optional<double> trained_links, trained_weight, trained_precision, trained_recall;

  struct Attributed {
    double seconds = 0, network_rounds = 0, left_out_links = 0;
    std::vector<std::pair<std::string, double>> coefficients;  // of features of the first trial
    double training_expected_links = 0, training_links = 0, training_mae = 0;
    LinkFigures beta;  // of the beta prior on the same reports
  };
  std::optional<Attributed> attributed;
};
// Of one trial with reports, on a graph of so many links.
EstimateFigures FiguresOfTrial(const Trial& trial, uint64_t true_links);
// Over trials of one simulation, at least one.
EstimateFigures MeanOf(const std::vector<EstimateFigures>& trials, uint64_t true_links);

// Of one trial, or of means. Absent where the quality was not measured.
std::optional<LinkGain> GainOf(const EstimateFigures& figures, uint32_t nodes, uint64_t true_links);

// What the searches of all trials tried under one name.
struct CandidateFigures {
  std::string name;
  int trials = 0;       // that trained it
  int chosen = 0;       // trials whose best it was
  std::string skipped;  // why the first trial that left it out did so; empty: none did
  std::optional<double> validation_loss, validation_accuracy, test_accuracy;  // means over `trials`
};
// In the order of the trials.
std::vector<CandidateFigures> FiguresOfSearches(const std::vector<Trial>& trials);

// Means over the trials. A setting on which the trials do not agree is absent: a search chooses anew in each.
struct TrainFigures {
  std::optional<Model> model;
  std::optional<Prior> prior;
  std::optional<Variant> variant;
  std::optional<std::string> device;
  std::optional<int> threads;
  std::optional<double> epoch_ms_mean;  // absent where a trial's model is no network
  double test_accuracy_mean = 0;
  std::optional<double> test_accuracy_std;  // of the sample; absent for one trial
  double validation_accuracy_mean = 0, test_macro_f1_mean = 0, test_roc_auc_mean = 0;  // NaN: not defined
  std::optional<double> learning_rate, weight_decay, dropout;
  std::optional<int> epochs, hidden, layers, patience;
  std::optional<uint32_t> batch_nodes;
  std::optional<std::vector<uint32_t>> fan_out;  // empty: no batches
  std::optional<bool> balance_classes;
  std::optional<std::string> node_features;
  std::optional<bool> deterministic;
  uint64_t seed = 0;                         // of the first trial
  std::vector<CandidateFigures> candidates;  // empty: there was no search
  std::string chosen;                        // the candidate that was chosen most often
  std::vector<std::string> warnings;         // of all trials, each once
};

struct SimulationFigures {
  const Simulation* simulation = nullptr;  // outlives this
  std::optional<PrivacyFigures> privacy;   // this and the next two are absent where no report was drawn
  std::optional<ReportFigures> report;
  std::optional<MechanismFigures> mechanism;  // means; absent where links are estimated or not seen
  std::optional<PlausibilityFigures> plausibility;
  std::vector<EstimateFigures> estimates;   // [trials]; empty where no report was drawn
  std::optional<EstimateFigures> estimate;  // their mean
  std::optional<TrainFigures> train;        // absent where nothing was trained
  std::optional<BoundsFigures> bounds;
  uint64_t peak_rss_bytes = 0;
};
SimulationFigures FiguresOf(const Simulation& simulation, uint64_t peak_rss_bytes);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_FIGURES_H_
