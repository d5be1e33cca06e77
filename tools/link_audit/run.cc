#include "tools/link_audit/run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/attributed/posterior_pass.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/reports/report_set.h"
#include "aggregator_server/train/influence.h"
#include "aggregator_server/worker/analyse.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/machine_memory.h"
#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/progress.h"
#include "common/graph/dataset.h"
#include "common/graph/dataset_digest.h"
#include "common/privacy/privatizer.h"
#include "tools/link_audit/attack_runner.h"
#include "tools/link_audit/feature_attack.h"
#include "tools/link_audit/figures.h"
#include "tools/link_audit/posterior_attack.h"
#include "tools/link_audit/similarity_attack.h"
#include "tools/link_audit/table_attack.h"
#include "tools/simulate/noise.h"

namespace blink {
namespace {

using Progress = std::function<void(double fraction)>;

// The report of every node, drawn as a node does.
absl::StatusOr<ReportSet> DrawReports(const CsrGraph& graph, const PrivacyParameters& parameters,
                                      RandomSource& random) {
  ReportSet reports(parameters);
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters, i, random));
    BLINK_ASSIGN_OR_RETURN(PrivateReport report, ApplyNoise(parameters, i, std::move(noise), graph.NeighboursOf(i)));
    BLINK_RETURN_IF_ERROR(reports.Add(i, std::move(report)));
  }
  BLINK_RETURN_IF_ERROR(reports.Complete());
  return reports;
}

// The bar of an audit: one for all trials and victims, which count as the same.
class AuditProgress {
 public:
  AuditProgress(size_t trials, size_t victims, bool enabled)
      : trials_(trials), victims_(victims), bar_(ProgressBar::OfShares("auditing", TimeLeft::kFromPace, enabled)) {}

  void Tell(size_t trial, size_t victim, const Victim& what, double fraction) {
    const double done =
        (static_cast<double>(trial * victims_ + victim) + fraction) / static_cast<double>(trials_ * victims_);
    bar_->Update(static_cast<uint64_t>(100 * done),
                 absl::StrCat("trial ", trial + 1, " of ", trials_, ", ", NameOfVictim(what)));
  }

 private:
  const size_t trials_, victims_;
  const std::unique_ptr<ProgressBar> bar_;
};

// The log-odds of P under the attributed prior, for the pairs of some nodes.
class AttributedTable {
 public:
  AttributedTable(uint32_t node_count, std::vector<NodeIndex> nodes)
      : node_count_(node_count), nodes_(std::move(nodes)), row_of_node_(node_count, kNoRow) {
    for (size_t row = 0; row < nodes_.size(); ++row) row_of_node_[nodes_[row]] = row;
    values_.resize(nodes_.size() * node_count_);
  }
  // Several threads call it; no two see the same pair.
  void Visit(const LogOddsRow& row) {
    for (uint32_t k = row.begin; k < row.end; ++k) {
      Set(row.i, row.first + k, row.log_odds[k]);
      Set(row.first + k, row.i, row.log_odds[k]);
    }
  }
  std::unique_ptr<LinkAttack> MakeAttack() && {
    return std::make_unique<TableAttack>("posterior", node_count_, nodes_, std::move(values_));
  }

 private:
  static constexpr size_t kNoRow = ~size_t{0};
  void Set(NodeIndex i, NodeIndex j, float value) {
    if (row_of_node_[i] != kNoRow) values_[row_of_node_[i] * node_count_ + j] = value;
  }

  const uint32_t node_count_;
  const std::vector<NodeIndex> nodes_;
  std::vector<size_t> row_of_node_;
  std::vector<float> values_;
};

// A model that was trained, and what it was trained on.
struct PublishedModel {
  const TrainOptions& options;
  const TrainResult& result;
  const LinkWeights& links;
};

class Auditor {
 public:
  Auditor(const LinkAuditOptions& options, Dataset dataset, LinkAuditSoFar& so_far)
      : options_(options), dataset_(std::move(dataset)), so_far_(so_far) {}

  absl::StatusOr<LinkAudit> Run() {
    BLINK_RETURN_IF_ERROR(Prepare());
    so_far_.Begin(audit_);
    AuditProgress progress(static_cast<size_t>(options_.trials), audit_.victims.size(), options_.progress);
    for (int t = 0; t < options_.trials; ++t) {
      BLINK_ASSIGN_OR_RETURN(AuditTrial trial, RunTrial(static_cast<size_t>(t), progress));
      so_far_.Add(std::move(trial));
    }
    return so_far_.Take();
  }

 private:
  uint32_t node_count() const { return dataset_.graph.node_count(); }
  const NodeAttributes& attributes() const { return dataset_.attributes; }

  absl::Status Prepare() {
    if (node_count() < 3 || dataset_.graph.link_count() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(options_.dataset, ": ", node_count(), " nodes and ",
                                                     dataset_.graph.link_count(),
                                                     " links: an audit needs 3 nodes and a link to find"));
    }
    BLINK_ASSIGN_OR_RETURN(spec_, TrainingOf(options_));
    BLINK_ASSIGN_OR_RETURN(const Candidate candidate, CandidateFromSpec(spec_));
    audit_.dataset_name = dataset_.name;
    audit_.dataset_sha256 = DigestToHex(DigestOfDataset(dataset_));
    audit_.nodes = node_count();
    audit_.features = attributes().features.cols;
    audit_.classes = attributes().class_count;
    audit_.links = dataset_.graph.link_count();
    audit_.groups = MakeNodeGroups(dataset_.graph);
    audit_.model = candidate.options.model;
    audit_.prior = candidate.prior;
    audit_.variant = candidate.variant.value_or(Variant::kHard);
    audit_.seed = options_.seed;
    audit_.seeded_noise = options_.insecure_seeded_noise;
    audit_.trials_asked = options_.trials;
    audit_.sampled_nodes = NodesToSample(node_count());
    audit_.influence_nodes = std::min(options_.influence_nodes, node_count());
    BLINK_RETURN_IF_ERROR(ListVictims());
    if (audit_.prior == Prior::kAttributed && audit_.features > 0) {
      scaled_ = attributes();
      scaled_->features = MakeNodeProfiles(attributes().features, options_.threads).scaled;
    }
    return CheckMemoryHere();
  }

  // And checks that each can be trained.
  absl::Status ListVictims() {
    // A data set without features gives an MLP nothing to learn from.
    if (audit_.features > 0) {
      BLINK_RETURN_IF_ERROR(CheckTrainableHere(FeaturesOnlySpec(spec_), attributes(), false, 0));
      audit_.victims.push_back({.kind = VictimKind::kFeaturesOnly});
    }
    BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec_, attributes(), false, 0));
    audit_.victims.push_back({.kind = VictimKind::kTrueLinks});
    for (const uint64_t epsilon_micro : options_.epsilon_micro) {
      BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersOf(options_, epsilon_micro, node_count()));
      const double flips = parameters.sends_bits() ? parameters.flip_probability() : 0;
      BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec_, attributes(), true, flips));
      parameters_.push_back(parameters);
      audit_.victims.push_back({.kind = VictimKind::kReports,
                                .epsilon_micro = epsilon_micro,
                                .degree_share_ppm = parameters.degree_share_ppm()});
    }
    return absl::OkStatus();
  }

  // The MLP on the given features.
  static v1::TrainingSpec FeaturesOnlySpec(v1::TrainingSpec spec) {
    spec.set_model(v1::MODEL_MLP);
    spec.set_node_features(v1::NODE_FEATURES_GIVEN);
    return spec;
  }
  // All of P, and no model.
  static v1::TrainingSpec PosteriorSpec(const v1::TrainingSpec& spec) {
    v1::TrainingSpec posterior;
    posterior.set_prior(spec.prior());
    posterior.set_seed(spec.seed());
    posterior.set_model(v1::MODEL_NONE);
    posterior.set_variant(v1::VARIANT_SOFT);
    return posterior;
  }

  absl::Status CheckMemoryHere() {
    const auto links = static_cast<double>(audit_.links);
    MemoryNeed need;
    for (const PrivacyParameters& parameters : parameters_) {
      for (const v1::TrainingSpec& spec : {spec_, PosteriorSpec(spec_)}) {
        const MemoryNeed of_one = NeedOfAnalysis(spec, attributes(), &parameters, v1::IMPLAUSIBLE_FLAG, links);
        if (of_one.bytes() > need.bytes()) need = of_one;
      }
    }
    const double n = node_count(), rows = audit_.sampled_nodes.value_or(node_count());
    const double tables =
        static_cast<double>(kGroups) * n * (audit_.influence_nodes + (audit_.prior == Prior::kAttributed ? rows : 0));
    need.data += 4 * tables + ThreadsOrCores(options_.threads) * 4 * rows * n + 24 * n * audit_.classes;
    audit_.memory_need_bytes = need.bytes();
    const MachineMemory memory = FindMachineMemory();
    if (options_.progress) {
      spdlog::info("this needs {}; {} has {} free", DescribeMemoryNeed(need), memory.available_of,
                   FormatBytes(static_cast<double>(memory.available)));
    }
    return options_.ignore_memory ? absl::OkStatus() : CheckMemory(need, memory.available, memory.available_of);
  }

  absl::StatusOr<AuditTrial> RunTrial(size_t t, AuditProgress& progress) {
    AuditTrial trial{.seed = options_.seed + t};
    v1::TrainingSpec spec = spec_;
    spec.set_seed(trial.seed);
    rows_ = ChooseRows(audit_.groups, audit_.sampled_nodes, trial.seed);
    const bool all = audit_.influence_nodes >= node_count();
    influence_rows_ =
        ChooseRows(audit_.groups, all ? std::nullopt : std::optional<uint32_t>(audit_.influence_nodes), trial.seed);
    influence_rows_.every_pair = false;  // the two directions of a pair have different scores
    size_t budget = 0;
    for (size_t v = 0; v < audit_.victims.size(); ++v) {
      const Victim& victim = audit_.victims[v];
      ProgressParts parts([&](double fraction) { progress.Tell(t, v, victim, fraction); }, 1);
      absl::StatusOr<VictimTrial> found = absl::InternalError("");
      if (victim.kind == VictimKind::kReports) {
        found = AttackReports(parameters_[budget], spec, budget, parts);
        ++budget;
      } else {
        found = AttackWithoutReports(victim.kind, spec, parts);
      }
      if (!found.ok()) return found.status();
      trial.victims.push_back(*std::move(found));
    }
    return trial;
  }

  absl::StatusOr<VictimTrial> AttackWithoutReports(VictimKind kind, const v1::TrainingSpec& spec,
                                                   ProgressParts& parts) {
    const bool features_only = kind == VictimKind::kFeaturesOnly;
    TrainingOptions training;
    training.threads = options_.threads;
    training.progress = [tell = parts.Next(0.5)](double fraction, const std::string&) { tell(fraction); };
    const LinkWeights links = LinkWeights::Unweighted(dataset_.graph);
    BLINK_ASSIGN_OR_RETURN(const TrainedModel model,
                           TrainOnLinks(links, attributes(), features_only ? FeaturesOnlySpec(spec) : spec, training));
    std::vector<PlannedAttack> attacks;
    if (features_only) {
      attacks.push_back(
          {AttackKind::kFeatures, std::make_unique<FeatureAttack>(NormalizeFeatures(attributes().features)), &rows_});
    }
    return AttackModel({model.trained.options, model.result, links}, std::move(attacks), parts.Next(0.5));
  }

  absl::StatusOr<VictimTrial> AttackReports(const PrivacyParameters& parameters, const v1::TrainingSpec& spec,
                                            size_t budget, ProgressParts& parts) {
    InsecureSeededNoise seeded(spec.seed() * kAuditedBudgetsMax + budget);
    RandomSource& random = options_.insecure_seeded_noise ? static_cast<RandomSource&>(seeded)
                                                          : static_cast<RandomSource&>(SecureRandom());
    BLINK_ASSIGN_OR_RETURN(const ReportSet reports, DrawReports(dataset_.graph, parameters, random));

    AnalysisOptions analysis;
    analysis.threads = options_.threads;
    analysis.tie_seed = spec.seed();
    analysis.progress = [tell = parts.Next(0.1)](Stage, double fraction, const std::string&) { tell(fraction); };
    std::optional<AttributedTable> table;
    if (audit_.prior == Prior::kAttributed) {
      table.emplace(node_count(), rows_.AllRows());
      analysis.visit_attributed = [&](const LogOddsRow& row) { table->Visit(row); };
    }
    BLINK_ASSIGN_OR_RETURN(const Analysis posterior, Analyse(reports, attributes(), PosteriorSpec(spec), analysis));
    std::vector<PlannedAttack> attacks;
    attacks.push_back(
        {AttackKind::kPosterior,
         table ? (*std::move(table)).MakeAttack() : std::make_unique<PosteriorAttack>(*posterior.estimates.beta.soft),
         &rows_});

    analysis.visit_attributed = nullptr;
    analysis.progress = [tell = parts.Next(0.4)](Stage stage, double fraction, const std::string&) {
      tell(stage == Stage::kEstimating ? 0.2 * fraction : 0.2 + 0.8 * fraction);
    };
    BLINK_ASSIGN_OR_RETURN(const Analysis trained, Analyse(reports, attributes(), spec, analysis));
    return AttackModel({trained.trained.options, trained.training, *LinksSeen(trained.estimates, trained.trained)},
                       std::move(attacks), parts.Next(0.5));
  }

  absl::StatusOr<std::vector<float>> Influence(const PublishedModel& model, const std::vector<NodeIndex>& nodes,
                                               const Progress& progress) {
    if (model.options.model == Model::kMlp)
      return std::vector<float>(nodes.size() * node_count());  // it reads no other
    TrainOptions options = model.options;
    options.threads = options_.threads;
    const bool given = model.result.node_features == NodeFeatures::kGiven;
    options.features_as_they_are = given && scaled_.has_value();  // as networks of the attributed prior get them
    return MeasureInfluence(model.links, options.features_as_they_are ? *scaled_ : attributes(), options,
                            model.result.state, nodes, [&](double fraction) { progress(0.8 * fraction); });
  }

  // Adds the attacks on what a model publishes.
  absl::StatusOr<VictimTrial> AttackModel(const PublishedModel& model, std::vector<PlannedAttack> attacks,
                                          const Progress& progress) {
    const Predictions predictions(model.result.logits, attributes().class_count);
    for (size_t k = 0; k < kDistanceNames.size(); ++k) {
      attacks.push_back(
          {AttackKind::kSimilarity, std::make_unique<SimilarityAttack>(predictions, static_cast<Distance>(k)), &rows_});
    }
    const std::vector<NodeIndex> nodes = influence_rows_.AllRows();
    BLINK_ASSIGN_OR_RETURN(std::vector<float> influence, Influence(model, nodes, progress));
    attacks.push_back({AttackKind::kInfluence,
                       std::make_unique<TableAttack>("influence", node_count(), nodes, std::move(influence)),
                       &influence_rows_});
    return VictimTrial{.test_accuracy = model.result.test_accuracy,
                       .attacks = RunAttacks(attacks, dataset_.graph, options_.threads)};
  }

  const LinkAuditOptions& options_;
  const Dataset dataset_;
  std::optional<NodeAttributes> scaled_;  // under the attributed prior, where there are features
  v1::TrainingSpec spec_;                 // normalised
  std::vector<PrivacyParameters> parameters_;
  GroupRows rows_, influence_rows_;  // of the trial
  LinkAudit audit_;                  // without its trials
  LinkAuditSoFar& so_far_;
};

}  // namespace

absl::StatusOr<LinkAudit> AuditLinks(const LinkAuditOptions& options, LinkAuditSoFar& so_far) {
  BLINK_RETURN_IF_ERROR(ValidateLinkAuditOptions(options));
  BLINK_ASSIGN_OR_RETURN(Dataset dataset, ReadDataset(options.dataset));
  if (options.split_seed) {
    auto split = DrawSplit(dataset.attributes.labels, *options.split_seed);
    if (!split.ok()) return Reworded(split.status(), absl::StrCat("--split-seed: ", split.status().message()));
    dataset.attributes.split = *std::move(split);
  }
  return Auditor(options, std::move(dataset), so_far).Run();
}

}  // namespace blink
