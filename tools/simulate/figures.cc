#include "tools/simulate/figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/simulate/means.h"

namespace blink {
namespace {

std::optional<double> Share(double part, double whole) {
  return whole == 0 ? std::nullopt : std::optional<double>(part / whole);
}

LinkFigures FiguresOfPosterior(const LinkPosterior& posterior, uint64_t true_links) {
  LinkFigures figures;
  figures.expected_links = posterior.expected_links;
  figures.links = static_cast<double>(posterior.links().link_count());
  figures.true_positives = static_cast<double>(posterior.true_positives);
  figures.mae = posterior.mae;
  figures.precision = Share(figures.true_positives, figures.links);
  figures.recall = Share(figures.true_positives, static_cast<double>(true_links));
  figures.quality = posterior.quality;
  return figures;
}

// Means, and the bins of all items together; absent where one has none.
std::optional<PosteriorQuality> PoolQuality(const std::vector<LinkFigures>& items) {
  std::optional<PosteriorQuality> pooled;
  for (const LinkFigures& item : items) {
    if (!item.quality) return std::nullopt;
    if (!pooled) {
      pooled = item.quality;
      continue;
    }
    for (size_t k = 0; k < std::min(pooled->bins.size(), item.quality->bins.size()); ++k) {
      PosteriorQuality::Bin& bin = pooled->bins[k];
      const PosteriorQuality::Bin& more = item.quality->bins[k];
      const auto before = static_cast<double>(bin.pairs), added = static_cast<double>(more.pairs);
      bin.mean_p = before + added > 0 ? (bin.mean_p * before + more.mean_p * added) / (before + added) : 0;
      bin.pairs += more.pairs;
      bin.links += more.links;
    }
  }
  pooled->log_likelihood = MeanOver(items, [](const LinkFigures& item) { return item.quality->log_likelihood; });
  pooled->auc = MeanOver(items, [](const LinkFigures& item) { return item.quality->auc; });
  return pooled;
}

LinkFigures MeanOfLinks(const std::vector<LinkFigures>& items, uint64_t true_links) {
  double links = 0, true_positives = 0;
  for (const LinkFigures& item : items) {
    links += item.links;
    true_positives += item.true_positives;
  }
  LinkFigures mean;
  mean.expected_links = MeanOver(items, [](const LinkFigures& item) { return item.expected_links; });
  mean.links = links / static_cast<double>(items.size());
  mean.true_positives = true_positives / static_cast<double>(items.size());
  mean.mae = MeanOver(items, [](const LinkFigures& item) { return item.mae; });
  mean.precision = Share(true_positives, links);
  mean.recall = Share(true_positives, static_cast<double>(true_links * items.size()));
  mean.quality = PoolQuality(items);
  return mean;
}

EstimateFigures::Attributed MeanOfAttributed(const std::vector<EstimateFigures>& trials, uint64_t true_links) {
  using Attributed = EstimateFigures::Attributed;
  std::vector<Attributed> items;
  std::vector<LinkFigures> beta;
  for (const EstimateFigures& trial : trials) {
    items.push_back(*trial.attributed);
    beta.push_back(trial.attributed->beta);
  }
  Attributed mean;
  mean.seconds = MeanOver(items, [](const Attributed& item) { return item.seconds; });
  mean.network_rounds = MeanOver(items, [](const Attributed& item) { return item.network_rounds; });
  mean.left_out_links = MeanOver(items, [](const Attributed& item) { return item.left_out_links; });
  for (const auto& coefficient : items[0].coefficients) {
    const std::string& feature = coefficient.first;
    mean.coefficients.emplace_back(feature, MeanOver(items, [&](const Attributed& item) {
                                     for (const auto& [name, theta] : item.coefficients) {
                                       if (name == feature) return theta;
                                     }
                                     return 0.0;
                                   }));
  }
  mean.training_expected_links = MeanOver(items, [](const Attributed& item) { return item.training_expected_links; });
  mean.training_links = MeanOver(items, [](const Attributed& item) { return item.training_links; });
  mean.training_mae = MeanOver(items, [](const Attributed& item) { return item.training_mae; });
  mean.beta = MeanOfLinks(beta, true_links);
  return mean;
}

ReportFigures MeanOfReports(const std::vector<Trial>& trials) {
  ReportFigures mean;
  mean.bytes_mean = MeanOver(trials, [](const Trial& trial) { return trial.report->bytes_mean; });
  mean.entropy_bytes = MeanOver(trials, [](const Trial& trial) { return trial.report->entropy_bytes; });
  mean.privatize_us_mean = MeanOverAll(trials, [](const Trial& trial) { return trial.report->privatize_us_mean; });
  return mean;
}

MechanismFigures MeanOfMechanism(const std::vector<Trial>& trials) {
  MechanismFigures mean;
  mean.links = MeanOver(trials, [](const Trial& trial) { return trial.mechanism->links; });
  mean.links_seconds = MeanOver(trials, [](const Trial& trial) { return trial.mechanism->links_seconds; });
  mean.precision = MeanOverAll(trials, [](const Trial& trial) { return trial.mechanism->precision; });
  mean.recall = MeanOverAll(trials, [](const Trial& trial) { return trial.mechanism->recall; });
  return mean;
}

// What the reports of the mechanism cost, in place of what Blink's own would.
void SetCost(MechanismKind mechanism, const PrivacyParameters& parameters, PrivacyFigures& privacy) {
  if (mechanism == MechanismKind::kLdpGcn || mechanism == MechanismKind::kLdpGen) privacy.flip_probability.reset();
  if (!FactsOf(mechanism).estimates_links) privacy.mechanism = FactsOf(mechanism).name;  // no round has it
  if (!privacy.achieved_epsilon) return;                                                 // noise from a seed
  const MechanismCost cost = CostOf(mechanism, parameters);
  privacy.achieved_epsilon = cost.epsilon_per_entry;
  privacy.achieved_epsilon_per_undirected_link = cost.epsilon_per_link;
}

// What does not follow from the reports is the first trial's.
PlausibilityFigures MeanOfChecks(const std::vector<Trial>& trials) {
  std::vector<PlausibilityFigures> items;
  for (const Trial& trial : trials) items.push_back(FiguresOfChecks(*trial.checks));
  PlausibilityFigures mean = items[0];
  mean.flagged = MeanOver(items, [](const PlausibilityFigures& item) { return item.flagged; });
  mean.dropped = MeanOver(items, [](const PlausibilityFigures& item) { return item.dropped; });
  mean.seconds = MeanOver(items, [](const PlausibilityFigures& item) { return item.seconds; });
  for (const PlausibilityFigures& item : items) {
    mean.symmetric &= item.symmetric;
    if (!item.note.empty()) mean.note = item.note;
  }
  return mean;
}

// What all trials say; absent where they do not agree, or where none says it.
template <typename Setting>
auto AgreedSetting(const std::vector<Trial>& trials, const Setting& setting)
    -> std::optional<std::decay_t<decltype(*setting(trials[0]))>> {
  const auto first = setting(trials[0]);
  for (const Trial& trial : trials) {
    if (setting(trial) != first) return std::nullopt;
  }
  return first;
}

// The same of an option that networks alone have.
template <typename Value>
std::optional<Value> AgreedOption(const std::vector<Trial>& trials, Value TrainOptions::*option) {
  return AgreedSetting(trials, [&](const Trial& trial) {
    const TrainOptions& options = trial.trained.options;
    return IsNetwork(options.model) ? std::optional<Value>(options.*option) : std::nullopt;
  });
}

TrainFigures FiguresOfTraining(const std::vector<Trial>& trials) {
  const auto agreed = [&](const auto& value) {
    return AgreedSetting(trials, [&](const Trial& trial) { return std::optional(value(trial)); });
  };
  const auto test_accuracy = [](const Trial& trial) { return trial.training.test_accuracy; };
  TrainFigures figures;
  figures.model = agreed([](const Trial& trial) { return trial.trained.options.model; });
  figures.prior = AgreedSetting(trials, [](const Trial& trial) { return PriorTrainedOn(trial.trained); });
  figures.variant = AgreedSetting(trials, [](const Trial& trial) { return trial.trained.variant; });
  figures.device = agreed([](const Trial& trial) { return trial.training.device; });
  figures.threads = agreed([](const Trial& trial) { return trial.training.threads; });
  figures.epoch_ms_mean = MeanOverAll(trials, [](const Trial& trial) {
    return IsNetwork(trial.trained.options.model) ? std::optional<double>(trial.training.epoch_ms_mean) : std::nullopt;
  });
  figures.test_accuracy_mean = MeanOver(trials, test_accuracy);
  figures.test_accuracy_std = StandardDeviationOver(trials, test_accuracy);
  figures.validation_accuracy_mean =
      MeanOver(trials, [](const Trial& trial) { return trial.training.validation_accuracy; });
  figures.test_macro_f1_mean = MeanOver(trials, [](const Trial& trial) { return trial.training.test.macro_f1; });
  figures.test_roc_auc_mean = MeanOver(trials, [](const Trial& trial) { return trial.training.test.roc_auc; });
  figures.learning_rate = AgreedOption(trials, &TrainOptions::learning_rate);
  figures.weight_decay = AgreedOption(trials, &TrainOptions::weight_decay);
  figures.dropout = AgreedOption(trials, &TrainOptions::dropout);
  figures.epochs = AgreedOption(trials, &TrainOptions::epochs);
  figures.hidden = AgreedOption(trials, &TrainOptions::hidden);
  figures.layers = AgreedOption(trials, &TrainOptions::layers);
  figures.patience = AgreedOption(trials, &TrainOptions::patience);
  figures.batch_nodes = AgreedOption(trials, &TrainOptions::batch_nodes);
  figures.fan_out = AgreedOption(trials, &TrainOptions::fan_out);
  figures.balance_classes = agreed([](const Trial& trial) { return trial.trained.options.balance_classes; });
  figures.node_features =
      agreed([](const Trial& trial) { return std::string(NodeFeaturesName(trial.training.node_features)); });
  figures.deterministic = agreed([](const Trial& trial) { return trial.training.deterministic; });
  figures.seed = trials[0].seed;
  figures.candidates = FiguresOfSearches(trials);
  const auto most =
      std::max_element(figures.candidates.begin(), figures.candidates.end(),
                       [](const CandidateFigures& a, const CandidateFigures& b) { return a.chosen < b.chosen; });
  if (most != figures.candidates.end()) figures.chosen = most->name;
  for (const Trial& trial : trials) {
    for (const std::string& warning : trial.training.warnings) {
      const auto same = std::find(figures.warnings.begin(), figures.warnings.end(), warning);
      if (same == figures.warnings.end()) figures.warnings.push_back(warning);
    }
  }
  return figures;
}

}  // namespace

EstimateFigures FiguresOfTrial(const Trial& trial, uint64_t true_links) {
  const Estimates& estimates = *trial.estimates;
  const LinkEstimate& beta = estimates.beta;
  const BetaModel& mle = beta.beta_fit->mle;
  EstimateFigures figures;
  figures.prior = estimates.prior();
  figures.links = FiguresOfPosterior(estimates.BestGuess(), true_links);
  figures.distinct_degrees = beta.beta_fit->distinct_degrees;
  figures.nodes_without_report = beta.nodes_without_report;
  figures.mle_exists = mle.exists;
  figures.mle_regularised = mle.regularised;
  figures.mle_seconds = mle.seconds;
  figures.mle_iterations = mle.iterations;
  figures.mle_residual = mle.residual;
  figures.mle_degree_distance = mle.distance;
  figures.denoise_seconds = beta.seconds - mle.seconds;
  figures.degree_mae = trial.degree_mae;
  if (trial.seen.links) figures.trained_links = static_cast<double>(*trial.seen.links);
  figures.trained_weight = trial.seen.weight;
  if (trial.trained_true_positives) {
    const auto found = static_cast<double>(*trial.trained_true_positives);
    figures.trained_precision = Share(found, *figures.trained_links);
    figures.trained_recall = Share(found, static_cast<double>(true_links));
  }
  if (!estimates.attributed) return figures;
  const LinkEstimate& attributed = *estimates.attributed;
  EstimateFigures::Attributed second;
  second.seconds = attributed.seconds;
  second.network_rounds = attributed.attributed_fit->network_rounds;
  second.left_out_links = attributed.left_out_links;
  for (const auto& [feature, theta] : attributed.attributed_fit->coefficients) {
    second.coefficients.emplace_back(feature, theta);
  }
  second.training_expected_links = attributed.expected_links;
  second.training_links = static_cast<double>(attributed.links().link_count());
  second.training_mae = attributed.mae;
  second.beta = FiguresOfPosterior(beta, true_links);
  figures.attributed = std::move(second);
  return figures;
}

std::optional<LinkGain> GainOf(const EstimateFigures& figures, uint32_t nodes, uint64_t true_links) {
  const auto of = [](const LinkFigures& links) {
    return LinkGain::Figures{links.quality->log_likelihood, links.quality->auc, links.mae};
  };
  if (!figures.links.quality) return std::nullopt;
  if (!figures.attributed) return LinkGain{"density", of(figures.links), FiguresOfDensity(nodes, true_links)};
  if (!figures.attributed->beta.quality) return std::nullopt;
  return LinkGain{"beta", of(figures.links), of(figures.attributed->beta)};
}

EstimateFigures MeanOf(const std::vector<EstimateFigures>& trials, uint64_t true_links) {
  using Figures = EstimateFigures;
  std::vector<LinkFigures> links;
  for (const Figures& trial : trials) links.push_back(trial.links);
  Figures mean;
  mean.prior = trials[0].prior;
  mean.links = MeanOfLinks(links, true_links);
  for (const Figures& trial : trials) {
    mean.mle_exists &= trial.mle_exists;
    mean.mle_regularised |= trial.mle_regularised;
    mean.mle_residual = std::max(mean.mle_residual, trial.mle_residual);
    mean.mle_degree_distance = std::max(mean.mle_degree_distance, trial.mle_degree_distance);
  }
  for (double Figures::*figure : {&Figures::distinct_degrees, &Figures::nodes_without_report, &Figures::mle_seconds,
                                  &Figures::mle_iterations, &Figures::denoise_seconds, &Figures::degree_mae}) {
    mean.*figure = MeanOver(trials, [&](const Figures& trial) { return trial.*figure; });
  }
  for (std::optional<double> Figures::*figure :
       {&Figures::trained_links, &Figures::trained_weight, &Figures::trained_precision, &Figures::trained_recall}) {
    mean.*figure = MeanOverAll(trials, [&](const Figures& trial) { return trial.*figure; });
  }
  if (trials[0].attributed) mean.attributed = MeanOfAttributed(trials, true_links);
  return mean;
}

std::vector<CandidateFigures> FiguresOfSearches(const std::vector<Trial>& trials) {
  std::vector<CandidateFigures> all;
  const auto figures_of = [&](const std::string& name) -> CandidateFigures& {
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const CandidateFigures& figures) { return figures.name == name; });
    return same != all.end() ? *same : all.emplace_back(CandidateFigures{.name = name});
  };
  for (const Trial& trial : trials) {
    if (trial.search.empty()) return {};
    for (const Tried& tried : trial.search) {
      CandidateFigures& figures = figures_of(CandidateName(tried.candidate));
      if (!tried.skipped.empty()) {
        if (figures.skipped.empty()) figures.skipped = tried.skipped;
        continue;
      }
      ++figures.trials;
      figures.validation_loss = figures.validation_loss.value_or(0) + tried.validation_loss;
      figures.validation_accuracy = figures.validation_accuracy.value_or(0) + tried.validation_accuracy;
      figures.test_accuracy = figures.test_accuracy.value_or(0) + tried.test_accuracy;
    }
    ++figures_of(CandidateName(trial.trained)).chosen;
  }
  for (CandidateFigures& figures : all) {  // which have sums so far
    for (auto* sum : {&figures.validation_loss, &figures.validation_accuracy, &figures.test_accuracy}) {
      if (sum->has_value()) **sum /= figures.trials;
    }
  }
  return all;
}

SimulationFigures FiguresOf(const Simulation& simulation, uint64_t peak_rss_bytes) {
  const std::vector<Trial>& trials = simulation.trials;
  SimulationFigures figures;
  figures.simulation = &simulation;
  figures.peak_rss_bytes = peak_rss_bytes;
  if (simulation.parameters) figures.privacy = FiguresOfPrivacy(*simulation.parameters, *simulation.origin);
  if (simulation.parameters) SetCost(simulation.mechanism, *simulation.parameters, *figures.privacy);
  if (trials.empty()) return figures;
  if (trials[0].mechanism) figures.mechanism = MeanOfMechanism(trials);
  if (trials[0].report) figures.report = MeanOfReports(trials);
  if (trials[0].checks) figures.plausibility = MeanOfChecks(trials);
  if (trials[0].estimates) {
    for (const Trial& trial : trials) figures.estimates.push_back(FiguresOfTrial(trial, simulation.links));
    figures.estimate = MeanOf(figures.estimates, simulation.links);
  }
  if (trials[0].has_model()) figures.train = FiguresOfTraining(trials);
  figures.bounds = FiguresOfBounds(simulation);
  return figures;
}

}  // namespace blink
