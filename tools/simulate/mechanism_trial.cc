#include "tools/simulate/mechanism_trial.h"

#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "aggregator_server/select/features_only.h"
#include "aggregator_server/select/memory_need.h"
#include "aggregator_server/select/search.h"
#include "aggregator_server/select/trainable.h"
#include "aggregator_server/train/learned_links.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/wire/report_codec.h"
#include "common/wire/training_spec.h"
#include "mechanisms/dprr.h"
#include "mechanisms/ldpgcn.h"
#include "mechanisms/ldpgen.h"
#include "mechanisms/rr.h"
#include "mechanisms/symrr.h"

namespace blink {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kNumberBytes = 8;  // of a number on the wire

// Another stream than that of seeded noise.
uint64_t SeedOfAggregator(const MechanismRun& run) { return run.spec.seed() ^ 0xd1b54a32d192ed03u; }

double SecondsSince(Clock::time_point started) { return std::chrono::duration<double>(Clock::now() - started).count(); }

// A trial's drawing, node by node: makes a report of every list, hands it on, and adds up what it takes.
class Drawing {
 public:
  explicit Drawing(const MechanismRun& run) : run_(run), graph_(run.dataset->graph) {}

  // report(node, list) -> StatusOr<Report>; add(node, report) -> Status; bytes(node, report): near its entropy.
  template <typename Report, typename Add, typename Bytes>
  absl::Status ForEachNode(const Report& report, const Add& add, const Bytes& bytes, double first = 0,
                           double share = 1) {
    const uint32_t n = graph_.node_count();
    for (NodeIndex i = 0; i < n; ++i) {
      const auto started = Clock::now();
      auto drawn = report(i, graph_.NeighboursOf(i));
      if (!drawn.ok()) return drawn.status();
      drawing_s_ += SecondsSince(started);
      bytes_ += bytes(i, *drawn);
      BLINK_RETURN_IF_ERROR(add(i, *std::move(drawn)));
      if (run_.drawing) run_.drawing(first + share * (i + 1.0) / n);
    }
    return absl::OkStatus();
  }

  ReportFigures Figures() const {
    const double n = graph_.node_count();
    return {.bytes_mean = bytes_ / n, .entropy_bytes = bytes_ / n, .privatize_us_mean = 1e6 * drawing_s_ / n};
  }

 private:
  const MechanismRun& run_;
  const CsrGraph& graph_;
  double drawing_s_ = 0, bytes_ = 0;
};

MechanismLinks WithLinks(LinkWeights weights, const Drawing& drawing, double links_s) {
  MechanismLinks made{.weights = std::move(weights), .report = drawing.Figures()};
  made.figures.links_seconds = links_s;
  return made;
}

// Randomised response as it is, for rr and solitude.
absl::StatusOr<MechanismLinks> RrLinks(const MechanismRun& run) {
  const uint32_t n = run.parameters->node_count();
  BLINK_ASSIGN_OR_RETURN(const RrNode node, RrNode::Create(run.parameters->epsilon_micro(), n));
  RrAggregator aggregator(n);
  Drawing drawing(run);
  BLINK_RETURN_IF_ERROR(drawing.ForEachNode(
      [&](NodeIndex i, absl::Span<const NodeIndex> list) { return node.Report(i, list, *run.random); },
      [&](NodeIndex i, const BitRow& bits) { return aggregator.Add(i, bits); },
      [&](NodeIndex, const BitRow& bits) { return EntropyBytes(n, bits.Count()); }));
  const auto started = Clock::now();
  BLINK_ASSIGN_OR_RETURN(LinkWeights weights, std::move(aggregator).Links());
  return WithLinks(std::move(weights), drawing, SecondsSince(started));
}

absl::StatusOr<MechanismLinks> SymRrLinks(const MechanismRun& run) {
  const uint32_t n = run.parameters->node_count();
  BLINK_ASSIGN_OR_RETURN(const SymRrNode node, SymRrNode::Create(run.parameters->epsilon_micro(), n));
  SymRrAggregator aggregator(n);
  Drawing drawing(run);
  BLINK_RETURN_IF_ERROR(drawing.ForEachNode(
      [&](NodeIndex i, absl::Span<const NodeIndex> list) { return node.Report(i, list, *run.random); },
      [&](NodeIndex i, const BitRow& bits) { return aggregator.Add(i, bits); },
      [&](NodeIndex i, const BitRow& bits) { return EntropyBytes(i + 1, bits.Count()); }));
  const auto started = Clock::now();
  BLINK_ASSIGN_OR_RETURN(LinkWeights weights, std::move(aggregator).Links());
  return WithLinks(std::move(weights), drawing, SecondsSince(started));
}

absl::StatusOr<MechanismLinks> DpRrLinks(const MechanismRun& run) {
  const uint32_t n = run.parameters->node_count();
  BLINK_ASSIGN_OR_RETURN(const DpRrNode node, DpRrNode::Create(run.parameters->epsilon_micro(), n));
  DpRrAggregator aggregator(node.parameters(), SeedOfAggregator(run));
  Drawing drawing(run);
  BLINK_RETURN_IF_ERROR(drawing.ForEachNode(
      [&](NodeIndex i, absl::Span<const NodeIndex> list) { return node.Report(i, list, *run.random); },
      [&](NodeIndex i, const PrivateReport& report) { return aggregator.Add(i, report); },
      [&](NodeIndex, const PrivateReport& report) { return EntropyBytes(n, report.bits.Count()) + kNumberBytes; }));
  const auto started = Clock::now();
  BLINK_ASSIGN_OR_RETURN(LinkWeights weights, std::move(aggregator).Links());
  return WithLinks(std::move(weights), drawing, SecondsSince(started));
}

absl::StatusOr<MechanismLinks> LdpGcnLinks(const MechanismRun& run) {
  const uint32_t n = run.parameters->node_count();
  BLINK_ASSIGN_OR_RETURN(const LdpGcnNode node, LdpGcnNode::Create(run.parameters->epsilon_micro(), n));
  LdpGcnAggregator aggregator(n, SeedOfAggregator(run));
  Drawing drawing(run);
  using Entries = std::vector<int64_t>;
  BLINK_RETURN_IF_ERROR(drawing.ForEachNode(
      [&](NodeIndex i, absl::Span<const NodeIndex> list) { return node.Report(i, list, *run.random); },
      [&](NodeIndex i, const Entries& entries) { return aggregator.Add(i, entries); },
      [&](NodeIndex, const Entries& entries) { return kNumberBytes * (static_cast<double>(entries.size()) - 1); }));
  const auto started = Clock::now();
  BLINK_ASSIGN_OR_RETURN(LinkWeights weights, std::move(aggregator).Links());
  return WithLinks(std::move(weights), drawing, SecondsSince(started));
}

absl::Status CheckGroupsFit(const SimulateOptions& options, uint32_t nodes, uint32_t groups) {
  const MachineMemory memory = FindMachineMemory();
  const MemoryNeed need{.program = 0, .estimate = LdpGenAggregator::Bytes(nodes, groups)};
  return options.ignore_memory ? absl::OkStatus() : CheckMemory(need, memory.available, memory.available_of);
}

absl::StatusOr<MechanismLinks> LdpGenLinks(const MechanismRun& run) {
  const uint32_t n = run.parameters->node_count();
  BLINK_ASSIGN_OR_RETURN(const LdpGenNode node, LdpGenNode::Create(run.parameters->epsilon_micro(), n));
  LdpGenAggregator aggregator(*run.parameters, SeedOfAggregator(run), run.options->threads);
  Drawing drawing(run);
  double links_s = 0;
  for (int question = 1; question <= 2; ++question) {
    BLINK_RETURN_IF_ERROR(drawing.ForEachNode(
        [&](NodeIndex i, absl::Span<const NodeIndex> list) {
          return node.Answer(aggregator.groups(), i, list, *run.random);
        },
        [&](NodeIndex i, const std::vector<int64_t>& answer) { return aggregator.Add(i, answer); },
        [&](NodeIndex, const std::vector<int64_t>& answer) {
          return kNumberBytes * static_cast<double>(answer.size());
        },
        (question - 1) / 2.0, 0.5));
    if (question == 2) break;
    const auto started = Clock::now();
    BLINK_RETURN_IF_ERROR(aggregator.NextQuestion());
    links_s += SecondsSince(started);
    BLINK_RETURN_IF_ERROR(CheckGroupsFit(*run.options, n, aggregator.groups().count));
  }
  const uint32_t groups = aggregator.groups().count;
  const auto started = Clock::now();
  BLINK_ASSIGN_OR_RETURN(LinkWeights weights, std::move(aggregator).Links());
  MechanismLinks made = WithLinks(std::move(weights), drawing, links_s + SecondsSince(started));
  made.figures.groups = groups;
  return made;
}

// Looks up the true entries, which are fewer than those of a noisy graph.
uint64_t CountTrueEntries(const CsrGraph& links, const CsrGraph& truth) {
  uint64_t entries = 0;
  for (NodeIndex i = 0; i < truth.node_count(); ++i) {
    for (const NodeIndex j : truth.NeighboursOf(i)) entries += links.HasLink(i, j) ? 1 : 0;
  }
  return entries;
}

void FillLinkFigures(const CsrGraph& links, const CsrGraph& truth, MechanismFigures& figures) {
  const auto entries = static_cast<double>(links.neighbours().size());
  const auto found = static_cast<double>(CountTrueEntries(links, truth));
  const auto wanted = static_cast<double>(truth.neighbours().size());
  figures.links = entries / 2;
  if (entries > 0) figures.precision = found / entries;
  if (wanted > 0) figures.recall = found / wanted;
}

TrainingOptions OptionsOf(const MechanismRun& run) {
  TrainingOptions options;
  options.threads = run.options->threads;
  options.progress = run.training;
  return options;
}

Trial TrialOf(const MechanismRun& run, TrainedModel model) {
  return Trial{.seed = run.spec.seed(),
               .trained = std::move(model.trained),
               .training = std::move(model.result),
               .search = std::move(model.search),
               .features_only = std::move(model.features_only)};
}

// The weights and the links of one model, learnt together.
absl::StatusOr<TrainedModel> LearnWithLinks(const MechanismRun& run, const LinkWeights& reported) {
  const NodeAttributes& attributes = run.dataset->attributes;
  BLINK_RETURN_IF_ERROR(CheckTrainableHere(run.spec, attributes, /*estimated=*/false, /*flip_probability=*/0));
  TrainedModel model;
  BLINK_ASSIGN_OR_RETURN(model.trained, CandidateFromSpec(run.spec));
  model.trained.variant.reset();
  TrainOptions options = model.trained.options;
  if (run.training) {
    const int epochs = options.epochs;
    options.progress = [&run, epochs](int epoch, double loss) {
      run.training(static_cast<double>(epoch) / epochs, "learning the weights and the links");
    };
  }
  BLINK_ASSIGN_OR_RETURN(model.result, TrainWithLinks(reported, attributes, options, run.options->solitude));
  if (run.options->bounds) {
    BLINK_ASSIGN_OR_RETURN(model.features_only,
                           FindFeaturesOnly(run.spec, {}, attributes, nullptr, nullptr, OptionsOf(run)));
  }
  return model;
}

// The strongest model that sees no link, with its result.
absl::StatusOr<TrainedModel> TrainFeaturesOnly(const MechanismRun& run) {
  const NodeAttributes& attributes = run.dataset->attributes;
  const TrainingOptions options = OptionsOf(run);
  if (run.training) run.training(0, "measuring what the features alone give");
  BLINK_ASSIGN_OR_RETURN(const FeatureView view, FitOnFeatures(attributes, run.spec.seed(), options.threads));
  BLINK_ASSIGN_OR_RETURN(const std::optional<Tried> best,
                         FindFeaturesOnly(run.spec, {}, attributes, &view.classifier, nullptr, options));
  if (!best) return absl::FailedPreconditionError("no model can be trained on the features of this data set alone");
  const AttributedSources attributed{.feature_classifier = &view.classifier};
  BLINK_ASSIGN_OR_RETURN(CsrGraph no_graph, CsrGraph::FromLinks(attributes.node_count, {}));
  const LinkWeights no_links = LinkWeights::Unweighted(std::move(no_graph));
  const TrainingSources sources{.attributes = &attributes,
                                .weights_of = [&](const Candidate&) -> const LinkWeights& { return no_links; },
                                .attributed = &attributed};
  BLINK_ASSIGN_OR_RETURN(TrainedModel model, TrainOne(best->candidate, sources, options));
  model.features_only = *best;
  return model;
}

}  // namespace

MemoryNeed NeedOfMechanism(const SimulateOptions& options, const v1::TrainingSpec& spec, const Dataset& dataset,
                           const PrivacyParameters& parameters) {
  const double n = dataset.graph.node_count(), true_links = static_cast<double>(dataset.graph.link_count());
  const double flipped = n * (n - 1) * parameters.flip_probability();
  const uint32_t nodes = dataset.graph.node_count();
  double links = true_links, own = 0;
  const bool keeps_flips = options.mechanism == MechanismKind::kRr || options.mechanism == MechanismKind::kSymRr ||
                           options.mechanism == MechanismKind::kSolitude;
  if (keeps_flips) links += flipped / 2;
  if (options.mechanism == MechanismKind::kLdpGcn) own = LdpGcnAggregator::Bytes(nodes);
  if (options.mechanism == MechanismKind::kSolitude) {
    own = LearnedLinksBytes(nodes, FromProto(spec.model()).value_or(Model::kGcn));
  }
  MemoryNeed need = NeedOfAnalysis(spec, dataset.attributes, nullptr, v1::IMPLAUSIBLE_FLAG, links);
  need.estimate += own + 16 * links;  // the reported rows while they arrive
  return need;
}

absl::StatusOr<MechanismLinks> MakeMechanismLinks(const MechanismRun& run) {
  const auto make = [&]() -> absl::StatusOr<MechanismLinks> {
    switch (run.options->mechanism) {
      case MechanismKind::kRr:
      case MechanismKind::kSolitude:
        return RrLinks(run);
      case MechanismKind::kSymRr:
        return SymRrLinks(run);
      case MechanismKind::kDpRr:
        return DpRrLinks(run);
      case MechanismKind::kLdpGcn:
        return LdpGcnLinks(run);
      case MechanismKind::kLdpGen:
        return LdpGenLinks(run);
      default:
        return absl::InvalidArgumentError("the mechanism makes no links of its own");
    }
  };
  BLINK_ASSIGN_OR_RETURN(MechanismLinks made, make());
  FillLinkFigures(made.weights.links, run.dataset->graph, made.figures);
  return made;
}

absl::StatusOr<Trial> RunMechanismTrial(const MechanismRun& run) {
  if (run.options->mechanism == MechanismKind::kFeaturesOnly) {
    BLINK_ASSIGN_OR_RETURN(TrainedModel model, TrainFeaturesOnly(run));
    return TrialOf(run, std::move(model));
  }
  BLINK_ASSIGN_OR_RETURN(const MechanismLinks made, MakeMechanismLinks(run));
  const auto train = [&]() -> absl::StatusOr<TrainedModel> {
    if (run.options->mechanism == MechanismKind::kSolitude) return LearnWithLinks(run, made.weights);
    return TrainOnLinks(made.weights, run.dataset->attributes, run.spec, OptionsOf(run), run.options->bounds);
  };
  BLINK_ASSIGN_OR_RETURN(TrainedModel model, train());
  Trial trial = TrialOf(run, std::move(model));
  trial.report = made.report;
  trial.mechanism = made.figures;
  return trial;
}

}  // namespace blink
