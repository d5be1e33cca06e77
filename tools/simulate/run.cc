#include "tools/simulate/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/result/result_folder.h"
#include "aggregator_server/result/result_place.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/machine_memory.h"
#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset_digest.h"
#include "common/privacy/privatizer.h"
#include "common/wire/report_codec.h"
#include "common/wire/round.h"
#include "common/wire/training_spec.h"
#include "tools/simulate/checkpoint.h"
#include "tools/simulate/given_links.h"
#include "tools/simulate/kept_reports.h"
#include "tools/simulate/mechanism_flags.h"
#include "tools/simulate/mechanism_trial.h"
#include "tools/simulate/noise.h"
#include "tools/simulate/progress.h"
#include "tools/simulate/so_far.h"

namespace blink {
namespace {

struct DrawnReports {
  ReportSet reports;
  ReportFigures figures;
};

// floor(share * n) nodes, by the seed: the first of a shuffle.
BitRow ChooseMissing(uint32_t n, double share, uint64_t seed) {
  std::vector<NodeIndex> nodes(n);
  std::iota(nodes.begin(), nodes.end(), 0);
  std::mt19937_64 random(~seed);  // not the numbers of seeded noise
  BitRow missing(n);
  const auto count = static_cast<uint32_t>(share * n);
  for (uint32_t k = 0; k < count; ++k) {
    std::swap(nodes[k], nodes[k + random() % (n - k)]);
    missing.Set(nodes[k]);
  }
  return missing;
}

double EntropyOf(const PrivacyParameters& parameters, NodeIndex node, uint32_t ones) {
  return EntropyBytes(parameters.pairs_of_report(node) + 1, ones);
}

// Beside what the run writes, or among the temporary files.
RowPlace PlaceOfRows(const SimulateOptions& options) {
  if (!options.checkpoint.empty()) return {options.checkpoint};
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? RowPlace{} : RowPlace{folder.string()};
}

// Draws and codes reports as a node does, those of a batch on several threads.
class ReportDrawer {
 public:
  // `random`: none: that of the system, which all threads share.
  ReportDrawer(const CsrGraph& graph, const PrivacyParameters& parameters, RandomSource* random, int threads)
      : graph_(graph),
        parameters_(parameters),
        random_(random != nullptr ? *random : SecureRandom()),
        threads_(random != nullptr ? 1 : ThreadsOrCores(threads)) {}  // what a seed gives, it gives in one order

  struct Drawn {
    NodeIndex node = 0;
    PrivateReport report;
    CodedReport coded;
    uint32_t ones = 0;
    std::chrono::duration<double, std::micro> privatizing{};
  };
  // The reports of `nodes`, in their order.
  absl::StatusOr<std::vector<Drawn>> Draw(const std::vector<NodeIndex>& nodes) {
    std::vector<Drawn> drawn(nodes.size());
    std::atomic<size_t> next{0};
    std::mutex mutex;
    absl::Status status;
    RunOnThreads(threads_, [&](int) {
      for (size_t k; (k = next.fetch_add(1)) < nodes.size();) {
        drawn[k].node = nodes[k];
        const absl::Status one = DrawOne(drawn[k]);
        if (one.ok()) continue;
        const std::lock_guard<std::mutex> lock(mutex);
        status.Update(one);
      }
    });
    BLINK_RETURN_IF_ERROR(status);
    return drawn;
  }

 private:
  absl::Status DrawOne(Drawn& drawn) const {
    const auto started = std::chrono::steady_clock::now();
    BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters_, drawn.node, random_));
    BLINK_ASSIGN_OR_RETURN(drawn.report,
                           ApplyNoise(parameters_, drawn.node, std::move(noise), graph_.NeighboursOf(drawn.node)));
    drawn.privatizing = std::chrono::steady_clock::now() - started;
    drawn.coded = EncodeReport(parameters_, drawn.report);
    drawn.ones = drawn.report.bits.Count();
    return absl::OkStatus();
  }

  const CsrGraph& graph_;
  const PrivacyParameters& parameters_;
  RandomSource& random_;
  const int threads_;
};

// The reports of all nodes that are not missing. `random`, `keeper`: may be none.
absl::StatusOr<DrawnReports> DrawReports(const CsrGraph& graph, const PrivacyParameters& parameters,
                                         const BitRow& missing, RandomSource* random, ReportKeeper* keeper,
                                         const RowPlace& place, int threads,
                                         const std::function<void(double)>& progress) {
  const uint32_t n = graph.node_count();
  constexpr NodeIndex kBatch = 256;
  BLINK_RETURN_IF_ERROR(CheckRoom(parameters, place));
  DrawnReports drawn{ReportSet(parameters, place), {}};
  ReportDrawer drawer(graph, parameters, random, threads);
  ProgressParts parts(progress, 5);
  const auto tell = parts.Next(4);
  std::chrono::duration<double, std::micro> privatizing{};
  for (NodeIndex first = 0; first < n; first += kBatch) {
    std::vector<NodeIndex> nodes;
    for (NodeIndex i = first; i < std::min(n, first + kBatch); ++i) {
      if (!missing.Test(i)) nodes.push_back(i);
    }
    BLINK_ASSIGN_OR_RETURN(std::vector<ReportDrawer::Drawn> batch, drawer.Draw(nodes));
    for (ReportDrawer::Drawn& one : batch) {
      privatizing += one.privatizing;
      if (keeper != nullptr) BLINK_RETURN_IF_ERROR(keeper->Add(one.node, one.coded));
      drawn.figures.bytes_mean += static_cast<double>(one.coded.coded_bits.size());
      if (parameters.sends_bits()) drawn.figures.entropy_bytes += EntropyOf(parameters, one.node, one.ones);
      BLINK_RETURN_IF_ERROR(drawn.reports.Add(one.node, std::move(one.report)));
    }
    tell(std::min(1.0, (first + double{kBatch}) / n));
  }
  BLINK_RETURN_IF_ERROR(drawn.reports.Complete(threads, parts.Next(1)));
  drawn.figures.bytes_mean /= drawn.reports.report_count();
  drawn.figures.entropy_bytes /= drawn.reports.report_count();
  drawn.figures.privatize_us_mean = privatizing.count() / drawn.reports.report_count();
  return drawn;
}

ReportFigures FiguresOfFolder(const RoundFolder& folder) {
  ReportFigures figures{.bytes_mean = folder.coded_bytes_mean};
  if (!folder.reports.parameters().sends_bits()) return figures;
  auto ones = folder.ones.begin();
  folder.reports.reported_nodes().ForEachOne(
      [&](NodeIndex i) { figures.entropy_bytes += EntropyOf(folder.reports.parameters(), i, *ones++); });
  figures.entropy_bytes /= static_cast<double>(folder.ones.size());  // as DrawReports, to the last bit
  return figures;
}

// Where no node has a label and nothing of a training was asked for, links and degrees are what is wanted.
v1::TrainingSpec WithoutLabels(v1::TrainingSpec training) {
  if (training.model() != v1::MODEL_UNSPECIFIED) return training;
  v1::TrainingSpec none = training;
  none.set_model(v1::MODEL_NONE);
  return NormalizeTrainingSpec(none).ok() ? none : training;
}

// The options given on the command line, over the round's own spec in a replay; normalised.
absl::StatusOr<v1::TrainingSpec> MakeSpec(const SimulateOptions& options, const RoundFolder* folder, bool has_labels) {
  const bool may_train_nothing = options.graph == SimulatedGraph::kBlink && !options.bounds && !has_labels &&
                                 FactsOf(options.mechanism).estimates_links;
  const v1::TrainingSpec training = may_train_nothing ? WithoutLabels(options.training) : options.training;
  v1::TrainingSpec spec = folder == nullptr ? training : OverrideTrainingSpec(folder->round.training(), training);
  if (options.seed) {
    spec.set_seed(*options.seed);
  } else if (folder == nullptr) {
    spec.set_seed(1);
  }
  return NormalizeTrainingSpec(std::move(spec));
}

double MeanDegreeError(const NodeDegrees& degrees, const CsrGraph& graph) {
  double sum = 0;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) sum += std::abs(degrees.mean[i] - graph.DegreeOf(i));
  return sum / graph.node_count();
}

// What of a trial's estimate could be large and is of no more use.
void ForgetWeights(Estimates& estimates) {
  for (LinkEstimate* estimate : {&estimates.beta, estimates.attributed ? &*estimates.attributed : nullptr}) {
    if (estimate == nullptr) continue;
    estimate->soft.reset();
    estimate->hybrid.reset();
    if (estimate->attributed_fit) estimate->attributed_fit->class_sums = {};
  }
}

class Simulator {
 public:
  Simulator(const SimulateOptions& options, Dataset dataset, std::optional<ResultPlace> place, SimulationSoFar& so_far)
      : options_(options), dataset_(std::move(dataset)), place_(std::move(place)), so_far_(so_far) {}

  absl::StatusOr<Simulation> Run() {
    if (!options_.reports.empty()) {
      BLINK_ASSIGN_OR_RETURN(const v1::Round round, ReadRound(options_.reports));
      BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
      BLINK_RETURN_IF_ERROR(
          CheckMemoryHere(OverrideTrainingSpec(round.training(), options_.training), &parameters, round.implausible()));
      BLINK_ASSIGN_OR_RETURN(
          folder_, ReadRoundFolder(options_.reports, {.place = PlaceOfRows(options_), .threads = options_.threads}));
      simulation_.parameters = folder_->reports.parameters();
      if (folder_->reports.node_count() != dataset_.graph.node_count()) {
        return absl::InvalidArgumentError(absl::StrCat("the reports are of a graph of ", folder_->reports.node_count(),
                                                       " nodes, but the data set has ", dataset_.graph.node_count()));
      }
    } else if (DrawsOrReadsReports(options_)) {
      BLINK_ASSIGN_OR_RETURN(simulation_.parameters, ParametersOf(options_, dataset_.graph.node_count()));
    }
    if (!options_.links.empty()) {
      BLINK_ASSIGN_OR_RETURN(given_, ReadGivenLinks(options_.links, dataset_.graph));
      simulation_.given = given_->figures;
    }
    DescribeSimulation();
    BLINK_ASSIGN_OR_RETURN(spec_, MakeSpec(options_, folder_ ? &*folder_ : nullptr, dataset_.attributes.has_labels()));
    BLINK_RETURN_IF_ERROR(CheckPrior(options_, spec_.prior()));
    BLINK_ASSIGN_OR_RETURN(ingredients_, LeaveOutIngredients(options_.without));
    if (options_.bounds) BLINK_RETURN_IF_ERROR(CheckBoundsTrainable());
    const bool estimated = EstimatesLinks(options_);
    const double flip_probability =
        estimated && simulation_.parameters->sends_bits() ? simulation_.parameters->flip_probability() : 0;
    BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec_, dataset_.attributes, estimated, flip_probability));
    if (!folder_) {
      BLINK_RETURN_IF_ERROR(
          CheckMemoryHere(spec_, simulation_.parameters ? &*simulation_.parameters : nullptr, v1::IMPLAUSIBLE_FLAG));
    }
    digest_ = DigestRun();
    if (!options_.save_reports.empty()) BLINK_RETURN_IF_ERROR(ClaimReportsFolder(options_.save_reports));
    if (!options_.checkpoint.empty()) {
      BLINK_RETURN_IF_ERROR(ClaimSimulationCheckpoints(options_.checkpoint, digest_));
    }

    simulation_.trials_asked = options_.trials.value_or(folder_ ? 1 : 5);
    simulation_.bounds_asked = options_.bounds;
    so_far_.Begin(simulation_);
    const int trials = simulation_.trials_asked;
    TrialProgress progress(trials + (options_.bounds ? 1 : 0), options_.progress);
    for (int t = 0; t < trials; ++t) {
      v1::TrainingSpec spec = spec_;
      spec.set_seed(spec_.seed() + t);
      BLINK_ASSIGN_OR_RETURN(Trial trial, RunTrial(spec, t, progress));
      so_far_.Add(std::move(trial));
      BLINK_RETURN_IF_ERROR(result_written_);  // only now, so that the trial's figures are printed all the same
    }
    if (options_.bounds) {
      BLINK_ASSIGN_OR_RETURN(Trial true_links,
                             RunTrialWithoutReports(spec_, trials, progress, "true-links", "on the true links: "));
      so_far_.AddTrueLinks(std::move(true_links));
    }
    return so_far_.Take();
  }

 private:
  absl::StatusOr<Trial> RunTrial(const v1::TrainingSpec& spec, int index, TrialProgress& progress) {
    const bool of_features = options_.mechanism == MechanismKind::kFeaturesOnly;
    if (!DrawsOrReadsReports(options_) && !of_features) {
      return RunTrialWithoutReports(spec, index, progress, TrialName(index));
    }
    if (EstimatesLinks(options_)) return RunTrialOnReports(spec, index, progress);
    InsecureSeededNoise seeded(spec.seed());
    const MechanismRun run{
        .options = &options_,
        .dataset = &dataset_,
        .spec = spec,
        .parameters = simulation_.parameters,
        .random = options_.insecure_seeded_noise ? static_cast<RandomSource*>(&seeded) : &SecureRandom(),
        .drawing = [&](double fraction) { progress.TellDrawing(index, fraction); },
        .training = [&](double fraction, const std::string& text) { progress.TellTraining(index, fraction, text); }};
    return RunMechanismTrial(run);
  }

  void DescribeSimulation() {
    simulation_.dataset_name = dataset_.name;
    simulation_.dataset_sha256 = DigestToHex(DigestOfDataset(dataset_));
    simulation_.attributes_sha256 = DigestToHex(DigestOfAttributes(dataset_.attributes));
    simulation_.nodes = dataset_.graph.node_count();
    simulation_.links = dataset_.graph.link_count();
    simulation_.features = dataset_.attributes.features.cols;
    simulation_.has_labels = dataset_.attributes.has_labels();
    simulation_.classes = dataset_.attributes.class_count;
    simulation_.graph = options_.graph;
    const bool replays_one_end = folder_ && folder_->reports.parameters().mechanism() == Mechanism::kOneEnd;
    simulation_.mechanism = replays_one_end ? MechanismKind::kOneEnd : options_.mechanism;
    simulation_.missing = options_.missing;
    simulation_.split_seed = options_.split_seed;
    if (!DrawsOrReadsReports(options_)) return;
    simulation_.origin = folder_                          ? ReportOrigin::kReplay
                         : options_.insecure_seeded_noise ? ReportOrigin::kSeededSimulation
                                                          : ReportOrigin::kSimulation;
  }

  // The last training of --bounds, on the true links, is checked before the first.
  absl::Status CheckBoundsTrainable() const {
    if (spec_.model() == v1::MODEL_NONE) {
      return absl::InvalidArgumentError(
          "--bounds is about accuracies and the round trains nothing: name a model, such as --model gcn, or leave out "
          "--bounds");
    }
    return CheckTrainableHere(spec_, dataset_.attributes, /*estimated=*/false, /*flip_probability=*/0);
  }

  // Says how much memory is needed, and refuses what cannot be had now.
  absl::Status CheckMemoryHere(const v1::TrainingSpec& spec, const PrivacyParameters* parameters,
                               v1::Implausible of_round) {
    const MemoryNeed need =
        parameters != nullptr && !EstimatesLinks(options_)
            ? NeedOfMechanism(options_, spec, dataset_, *parameters)
            : NeedOfAnalysis(spec, dataset_.attributes, parameters, options_.implausible.value_or(of_round),
                             static_cast<double>(given_ ? given_->figures.links : dataset_.graph.link_count()));
    simulation_.memory_need_bytes = need.bytes();
    const MachineMemory memory = FindMachineMemory();
    if (options_.progress) {
      spdlog::info("this needs {}; {} has {} free", DescribeMemoryNeed(need), memory.available_of,
                   FormatBytes(static_cast<double>(memory.available)));
    }
    return options_.ignore_memory ? absl::OkStatus() : CheckMemory(need, memory.available, memory.available_of);
  }

  // Of what the trainings are made from; not of how many trials there are, nor of where and how fast they run.
  Digest DigestRun() const {
    Sha256 hash;
    hash.Update("blink simulation").UpdateUint64(static_cast<uint64_t>(options_.graph)).UpdateUint64(spec_.seed());
    v1::TrainingSpec training = spec_;
    training.clear_out_of_memory();
    hash.Update(training.SerializeAsString());
    for (const IngredientName& entry : kIngredientNames) hash.UpdateUint64(ingredients_.*entry.ingredient ? 1 : 0);
    hash.UpdateUint64(options_.network_rounds ? 1 + static_cast<uint64_t>(*options_.network_rounds) : 0);
    hash.UpdateUint64(options_.implausible ? 1 + static_cast<uint64_t>(*options_.implausible) : 0);
    hash.UpdateUint64(static_cast<uint64_t>(options_.missing * 1e9));
    if (simulation_.parameters) {
      hash.UpdateUint64(simulation_.parameters->epsilon_micro())
          .UpdateUint64(simulation_.parameters->degree_share_ppm());
      const Mechanism mechanism = simulation_.parameters->mechanism();
      if (mechanism != Mechanism::kBothEnds) hash.UpdateUint64(static_cast<uint32_t>(mechanism));
    }
    hash.Update(folder_ ? folder_->round.round_id() : KeepsReports(options_) ? "kept reports" : "no round");
    hash.Update(DigestToBytes(DigestOfDataset(dataset_)));
    if (given_) hash.Update(DigestToBytes(given_->digest));
    return hash.Finish();
  }

  absl::StatusOr<Trial> RunTrialWithoutReports(const v1::TrainingSpec& spec, int index, TrialProgress& progress,
                                               const std::string& name, const std::string& what = "") {
    TrainingOptions training_options;
    training_options.threads = options_.threads;
    training_options.checkpoint_folder = CheckpointFolder(name);
    training_options.checkpoint_every_s = options_.checkpoint_every_s;
    training_options.progress = [&](double fraction, const std::string& text) {
      progress.TellTraining(index, fraction, absl::StrCat(what, text));
    };
    BLINK_ASSIGN_OR_RETURN(TrainedModel model,
                           given_ ? TrainOnLinks(given_->weights, dataset_.attributes, spec, training_options)
                                  : TrainOnGraph(dataset_.graph, dataset_.attributes, spec, training_options));
    return Trial{.seed = spec.seed(),
                 .trained = std::move(model.trained),
                 .training = std::move(model.result),
                 .search = std::move(model.search),
                 .features_only = std::move(model.features_only)};
  }

  std::optional<uint64_t> CountTrueLinksTrainedOn(const Analysis& analysis) const {
    const LinkWeights* seen = LinksSeen(analysis.estimates, analysis.trained);
    if (seen == nullptr || seen->has_background()) return std::nullopt;
    const CsrGraph& links = seen->links;
    uint64_t both_directions = 0;
    for (NodeIndex i = 0; i < links.node_count(); ++i) {
      for (const NodeIndex j : links.NeighboursOf(i)) both_directions += dataset_.graph.HasLink(i, j) ? 1 : 0;
    }
    return both_directions / 2;
  }

  static std::string TrialName(int trial) { return absl::StrCat("trial-", trial + 1); }
  std::string CheckpointFolder(const std::string& name) const {
    return options_.checkpoint.empty() ? "" : absl::StrCat(options_.checkpoint, "/", name);
  }

  std::string ReportsFolder(int trial) const {
    return options_.save_reports.empty() ? CheckpointFolder(TrialName(trial))
                                         : absl::StrCat(options_.save_reports, "/", TrialName(trial));
  }

  absl::StatusOr<Trial> RunTrialOnReports(const v1::TrainingSpec& spec, int index, TrialProgress& progress) {
    if (options_.missing > 0 && options_.missing * simulation_.nodes < 1) {
      return absl::InvalidArgumentError(absl::StrCat("--missing is ", options_.missing, ", which of the data set's ",
                                                     simulation_.nodes, " nodes is none: give a larger share, or 0"));
    }
    if (folder_) return AnalyseTrial(folder_->reports, FiguresOfFolder(*folder_), spec, index, progress);
    if (KeepsReports(options_)) {
      BLINK_ASSIGN_OR_RETURN(const std::optional<RoundFolder> kept,
                             ReadKeptReports(ReportsFolder(index), PlaceOfRows(options_)));
      if (kept) return AnalyseTrial(kept->reports, FiguresOfFolder(*kept), spec, index, progress);
    }
    BLINK_ASSIGN_OR_RETURN(const DrawnReports drawn, DrawTrial(spec, index, progress));
    return AnalyseTrial(drawn.reports, drawn.figures, spec, index, progress);
  }

  absl::StatusOr<DrawnReports> DrawTrial(const v1::TrainingSpec& spec, int index, TrialProgress& progress) {
    InsecureSeededNoise seeded(spec.seed());
    RandomSource* const random = options_.insecure_seeded_noise ? &seeded : nullptr;
    std::optional<ReportKeeper> keeper;
    if (KeepsReports(options_)) {
      BLINK_ASSIGN_OR_RETURN(keeper, ReportKeeper::Create(ReportsFolder(index)));
    }
    BLINK_ASSIGN_OR_RETURN(DrawnReports drawn,
                           DrawReports(dataset_.graph, *simulation_.parameters,
                                       ChooseMissing(simulation_.nodes, options_.missing, spec.seed()), random,
                                       keeper ? &*keeper : nullptr, PlaceOfRows(options_), options_.threads,
                                       [&](double fraction) { progress.TellDrawing(index, fraction); }));
    if (keeper) {
      Sha256 name;
      name.Update("kept reports").Update(DigestToBytes(digest_)).UpdateUint64(index);
      BLINK_RETURN_IF_ERROR(keeper->Finish(*simulation_.parameters, spec, name.Finish()));
    }
    return drawn;
  }

  absl::StatusOr<Trial> AnalyseTrial(const ReportSet& reports, const ReportFigures& figures,
                                     const v1::TrainingSpec& spec, int index, TrialProgress& progress) {
    AnalysisOptions analysis_options;
    analysis_options.truth = &dataset_.graph;
    analysis_options.dataset_name = dataset_.name;
    analysis_options.threads = options_.threads;
    analysis_options.checkpoint_folder = CheckpointFolder(TrialName(index));
    analysis_options.measure_features_only = options_.bounds;
    analysis_options.checkpoint_every_s = options_.checkpoint_every_s;
    analysis_options.tie_seed = spec.seed();
    analysis_options.ingredients = ingredients_;
    analysis_options.network_rounds = options_.network_rounds;
    if (folder_) {
      analysis_options.tie_seed = TieSeedOfRound(folder_->round.round_id());
      analysis_options.implausible = folder_->round.implausible();
      analysis_options.degree_max = folder_->round.degree_max();
    }
    if (options_.implausible) analysis_options.implausible = *options_.implausible;
    analysis_options.progress = [&](Stage stage, double fraction, const std::string& text) {
      if (stage == Stage::kEstimating)
        progress.TellEstimating(index, fraction, text);
      else
        progress.TellTraining(index, fraction, text);
    };
    BLINK_ASSIGN_OR_RETURN(Analysis analysis, Analyse(reports, dataset_.attributes, spec, analysis_options));
    if (index == 0 && place_.has_value()) {
      result_written_ = WriteResultFolder(place_->temporary(), *simulation_.parameters, reports.report_count(),
                                          analysis, dataset_.attributes, *simulation_.origin);
      if (result_written_.ok()) result_written_ = place_->Publish();
    }
    const std::optional<uint64_t> trained_true_positives = CountTrueLinksTrainedOn(analysis);
    const SeenFigures seen = FiguresOfSeen(analysis.estimates, analysis.trained);
    ForgetWeights(analysis.estimates);
    return Trial{.seed = spec.seed(),
                 .report = figures,
                 .checks = std::move(analysis.checks),
                 .estimates = std::move(analysis.estimates),
                 .degree_mae = MeanDegreeError(analysis.degrees, dataset_.graph),
                 .tie_seed = analysis.tie_seed,
                 .seen = seen,
                 .trained_true_positives = trained_true_positives,
                 .trained = std::move(analysis.trained),
                 .training = std::move(analysis.training),
                 .search = std::move(analysis.search),
                 .features_only = std::move(analysis.features_only)};
  }

  const SimulateOptions& options_;
  const Dataset dataset_;
  std::optional<ResultPlace> place_;  // of the first trial's result
  absl::Status result_written_;       // there
  std::optional<RoundFolder> folder_;
  std::optional<GivenLinks> given_;
  v1::TrainingSpec spec_;  // normalised
  Ingredients ingredients_;
  Digest digest_{};        // of what the trainings are made from
  Simulation simulation_;  // without its trials
  SimulationSoFar& so_far_;
};

}  // namespace

absl::StatusOr<Simulation> Simulate(const SimulateOptions& options) {
  SimulationSoFar so_far;
  return Simulate(options, so_far);
}

absl::StatusOr<Simulation> Simulate(const SimulateOptions& options, SimulationSoFar& so_far) {
  BLINK_RETURN_IF_ERROR(ValidateSimulateOptions(options));
  std::optional<ResultPlace> place;  // claimed first: what cannot be written is said before hours of work
  if (!options.output.empty()) {
    BLINK_ASSIGN_OR_RETURN(place,
                           ResultPlace::Claim(options.output, options.replace_output ? ResultPlace::Existing::kReplace
                                                                                     : ResultPlace::Existing::kRefuse));
  }
  BLINK_ASSIGN_OR_RETURN(Dataset dataset, ReadDataset(options.dataset));
  if (options.split_seed) {
    auto split = DrawSplit(dataset.attributes.labels, *options.split_seed);
    if (!split.ok()) return Reworded(split.status(), absl::StrCat("--split-seed: ", split.status().message()));
    dataset.attributes.split = *std::move(split);
  }
  const SimulateOptions resolved = ResolveMechanism(options);
  return Simulator(resolved, std::move(dataset), std::move(place), so_far).Run();
}

}  // namespace blink
