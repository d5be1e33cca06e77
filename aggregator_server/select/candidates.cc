#include "aggregator_server/select/candidates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

// Whether a model is trained on links of a variant; the stacked one on Soft alone.
bool TakesVariant(Model model) { return model != Model::kMlp && model != Model::kFeatureClassifier; }

// `normal`: a normalised spec, of which prior, model and variant are said apart.
Candidate CandidateOf(const v1::TrainingSpec& normal, Prior prior, Model model, Variant variant) {
  Candidate candidate;
  TrainOptions& options = candidate.options;
  options.model = model;
  // The MLP is the same under both.
  candidate.prior = model == Model::kMlp ? Prior::kBeta : prior;
  if (TakesVariant(model)) candidate.variant = model == Model::kStacked ? Variant::kSoft : variant;
  options.learning_rate = normal.learning_rate();
  options.weight_decay = normal.weight_decay();
  options.dropout = normal.dropout();
  options.epochs = static_cast<int>(normal.epochs());
  if (normal.hidden() > 0) options.hidden = static_cast<int>(normal.hidden());
  options.layers = static_cast<int>(normal.layers());
  options.patience = static_cast<int>(normal.patience());
  options.balance_classes = normal.balance_classes();
  options.deterministic = normal.deterministic();
  options.node_features = FromProto(normal.node_features()).value_or(options.node_features);
  options.seed = normal.seed();
  options.device = normal.device();
  options.cpu_when_out_of_memory = normal.out_of_memory() == v1::OUT_OF_MEMORY_CPU;
  return candidate;
}

// Epochs. Wide layers on clean links are at their best early; but some hardly move for longer than 60.
constexpr int kAttributedPatience = 100;

// Seconds of all the attention over every pair of nodes. Per pair a pass costs about 20 operations and 2 per column of
// the layer (1 without a gradient), eight at once: measured with AVX2, and right within a factor of about two.
double PairAttentionSeconds(const TrainOptions& options, const ProblemSize& size) {
  constexpr double kSecondsPerOperation = 5e-11;
  double operations = 0;
  for (int layer = 0; layer < options.layers; ++layer) {
    const double width = layer + 1 == options.layers ? size.classes : options.hidden;
    operations += 2 * (20 + 2 * width);       // forward with a gradient, and backward
    if (layer > 0) operations += 20 + width;  // the evaluation; the first layer's serves both
  }
  return operations * size.nodes * size.nodes * options.epochs * kSecondsPerOperation;
}

}  // namespace

std::string PairName(const Candidate& candidate) {
  return absl::StrCat(ModelName(candidate.options.model), candidate.variant ? " " : "",
                      candidate.variant ? VariantName(*candidate.variant) : "",
                      candidate.variant && candidate.prior == Prior::kAttributed ? " attributed" : "");
}

std::string CandidateName(const Candidate& candidate) {
  const TrainOptions& options = candidate.options;
  if (options.model == Model::kEnsemble) return absl::StrCat("mean of ", absl::StrJoin(candidate.members, " + "));
  if (!IsNetwork(options.model)) return PairName(candidate);
  std::string name = absl::StrCat(PairName(candidate), ", learning rate ", options.learning_rate, ", weight decay ",
                                  options.weight_decay, ", dropout ", options.dropout);
  if (candidate.prior == Prior::kAttributed) absl::StrAppend(&name, ", hidden ", options.hidden);
  return name;
}

bool AttendsAllPairs(const Candidate& candidate) {
  return candidate.options.model == Model::kGat && candidate.variant == Variant::kSoft &&
         candidate.prior == Prior::kBeta;
}

std::string WhyTooCostly(const Candidate& candidate, const ProblemSize& size) {
  const std::string takes =
      absl::StrFormat("it takes about %.1f hours of one core, and more than %g are not spent unasked: ",
                      NominalSeconds(candidate, size) / 3600, kNominalSecondsMax / 3600);
  if (!AttendsAllPairs(candidate)) return takes + "name its model and variant to train it all the same";
  return takes +
         "use Hard or Hybrid links, GCN or GraphSAGE, or fewer epochs, or insist with allow_slow_attention "
         "(--allow-slow-attention)";
}

absl::StatusOr<Candidate> CandidateFromSpec(const v1::TrainingSpec& spec) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.candidates() > 0) return absl::InvalidArgumentError("the training specification asks for a search");
  const Prior prior = FromProto(normal.prior()).value_or(Prior::kBeta);
  const Model model = FromProto(normal.model()).value_or(Model::kGcn);
  return CandidateOf(normal, prior, model, FromProto(normal.variant()).value_or(Variant::kHard));
}

namespace {

constexpr double kMultiplicationsPerSecond = 4e9;

double FeatureValues(const Candidate& candidate, const ProblemSize& size) {
  return static_cast<double>(candidate.prior == Prior::kAttributed ? size.scaled_values : size.feature_values);
}

// Pairs in both directions that have a weight of their own in what a candidate is trained on.
double OwnPairs(const Candidate& candidate, const ProblemSize& size) {
  const double n = size.nodes, p = size.flip_probability;
  const bool soft = candidate.variant == Variant::kSoft;
  if (candidate.prior == Prior::kAttributed) return 2 * (soft ? size.attributed_kept : size.attributed_links);
  return 2 * size.links + (soft ? n * n * (1 - (1 - p) * (1 - p)) : 0);
}

}  // namespace

double AttributedNominalSeconds(uint32_t nodes, uint32_t dense_columns, uint32_t classes) {
  constexpr double kPasses = 4;   // a first posterior, two network rounds, and the sample that is fitted on
  constexpr double kOfPair = 60;  // multiplications that a pair costs beside its columns, its exponentials above all
  const double columns = kLatentWidth + dense_columns + 2.0 * classes;
  return kPasses * 0.5 * nodes * nodes * (2 * kOfPair + columns) / kMultiplicationsPerSecond;
}

double NominalSeconds(const Candidate& candidate, const ProblemSize& size) {
  constexpr double kPasses = 3;        // forward and backward for the training, forward for the evaluation
  constexpr double kExponential = 30;  // multiplications that an attention coefficient costs
  const TrainOptions& options = candidate.options;
  const double n = size.nodes;
  const double own = OwnPairs(candidate, size);
  if (options.model == Model::kStacked) {
    constexpr double kEvaluations = 1000;  // of all ridges, on the training nodes: half of all, about
    // Under the beta prior two products with every pair, and the squares of their rows: three passes like an
    // estimate's.
    const double sums = candidate.prior == Prior::kBeta ? 2 * own * size.classes + 3 * 8 * n * n : own * size.classes;
    return (kEvaluations * n * 9 * size.classes * size.classes + sums) / kMultiplicationsPerSecond;
  }
  if (!IsNetwork(options.model)) return 0;  // it is there already
  const double width = static_cast<double>(options.hidden) * (options.layers - 1) + size.classes;
  double products = FeatureValues(candidate, size) * options.hidden + n * options.hidden * width;
  if (options.model == Model::kGat) {
    if (!AttendsAllPairs(candidate)) products += (own + n) * (width + kExponential * options.layers);
  } else if (options.model != Model::kMlp) {
    products += own * width;
  }
  return kPasses * products * options.epochs / kMultiplicationsPerSecond +
         (AttendsAllPairs(candidate) ? PairAttentionSeconds(options, size) : 0);
}

double TrainingBytes(const Candidate& candidate, const ProblemSize& size) {
  constexpr double kFeatureCopies = 3;  // as made, as normalised, and their transpose or product with the links
  constexpr double kEntryBytes = 12;    // a value and its column, or row
  constexpr double kLayerCopies = 12;   // activations, masks, gradients, of two passes, and the best epoch's
  const TrainOptions& options = candidate.options;
  const double n = size.nodes, p = size.flip_probability;
  if (!IsNetwork(options.model)) return n * size.classes * (options.model == Model::kStacked ? 25 : 2) * sizeof(float);
  const double width = static_cast<double>(options.hidden) * (options.layers - 1) + size.classes;
  double bytes =
      FeatureValues(candidate, size) * kFeatureCopies * kEntryBytes + n * width * kLayerCopies * sizeof(float);
  if (options.model == Model::kMlp) return bytes;
  const double listed = candidate.prior == Prior::kAttributed ? OwnPairs(candidate, size) : 2 * size.links;
  bytes += listed * 2 * kEntryBytes * (options.model == Model::kGat ? options.layers : 1);
  // Of a soft pair with a one either an entry, or two bits of n^2.
  if (candidate.variant == Variant::kSoft && candidate.prior == Prior::kBeta)
    bytes += std::min(n * n * (1 - (1 - p) * (1 - p)) * 2 * kEntryBytes, n * n / 2);
  return bytes;
}

const std::vector<CandidateGrid::Setting>& CandidateGrid::Settings(Prior prior) {
  // The published learning rates and weight decays, but for their dropouts, which hardly differ, a strong one too. In
  // the order in which they were the best so far on citation graphs; the second and the third differ from the first in
  // all.
  static const std::vector<Setting> kBeta = {
      {0.01, 1e-4, 0.1},  {0.1, 1e-3, 0.1},  {0.01, 1e-4, 0.5},  {0.01, 1e-3, 0.1}, {0.1, 1e-4, 0.1},
      {0.01, 1e-4, 0.01}, {0.1, 1e-3, 0.01}, {0.01, 1e-3, 0.01}, {0.1, 1e-4, 0.5},  {0.01, 1e-5, 0.5},
      {0.1, 1e-4, 0.01},  {0.1, 1e-3, 0.5},  {0.01, 1e-3, 0.5},  {0.01, 1e-5, 0.1}, {0.1, 1e-5, 0.1},
      {0.01, 1e-5, 0.01}, {0.1, 1e-5, 0.01}, {0.1, 1e-5, 0.5}};
  // Wide and well regularised, the published one, and what lies around them.
  static const std::vector<Setting> kAttributed = {{0.01, 5e-4, 0.5, 64}, {0.01, 1e-4, 0.1, 16}, {0.01, 2e-3, 0.5, 64},
                                                   {0.01, 1e-4, 0.5, 64}, {0.01, 5e-4, 0.5, 16}, {0.01, 5e-4, 0.8, 64}};
  return prior == Prior::kAttributed ? kAttributed : kBeta;
}

namespace {

struct Pair {
  Prior prior;
  Model model;
  Variant variant;
};

// In the order of a search (docs/TUNING.md): the bound without links, then pairs whose variants and models all differ,
// the strongest first, then the others.
constexpr Pair kBetaPairs[] = {
    {Prior::kBeta, Model::kMlp, Variant::kHard},   {Prior::kBeta, Model::kGraphSage, Variant::kSoft},
    {Prior::kBeta, Model::kGcn, Variant::kHybrid}, {Prior::kBeta, Model::kGat, Variant::kHard},
    {Prior::kBeta, Model::kGcn, Variant::kSoft},   {Prior::kBeta, Model::kGraphSage, Variant::kHybrid},
    {Prior::kBeta, Model::kGcn, Variant::kHard},   {Prior::kBeta, Model::kGraphSage, Variant::kHard},
    {Prior::kBeta, Model::kGat, Variant::kHybrid}, {Prior::kBeta, Model::kGat, Variant::kSoft}};

// Likewise: what is there already or costs next to nothing, the strong ones of this prior, then the pairs of the beta
// prior among the others of this one. Without the beta prior's GAT over all pairs, which costs as much as half of the
// others together.
constexpr Pair kAttributedPairs[] = {{Prior::kBeta, Model::kMlp, Variant::kHard},
                                     {Prior::kAttributed, Model::kStacked, Variant::kSoft},
                                     {Prior::kAttributed, Model::kFeatureClassifier, Variant::kSoft},
                                     {Prior::kBeta, Model::kStacked, Variant::kSoft},
                                     {Prior::kAttributed, Model::kGcn, Variant::kSoft},
                                     {Prior::kAttributed, Model::kGraphSage, Variant::kSoft},
                                     {Prior::kBeta, Model::kGraphSage, Variant::kSoft},
                                     {Prior::kBeta, Model::kGcn, Variant::kHybrid},
                                     {Prior::kAttributed, Model::kGcn, Variant::kHybrid},
                                     {Prior::kAttributed, Model::kGraphSage, Variant::kHybrid},
                                     {Prior::kBeta, Model::kGat, Variant::kHard},
                                     {Prior::kBeta, Model::kGcn, Variant::kSoft},
                                     {Prior::kBeta, Model::kGraphSage, Variant::kHybrid},
                                     {Prior::kBeta, Model::kGcn, Variant::kHard},
                                     {Prior::kBeta, Model::kGraphSage, Variant::kHard},
                                     {Prior::kAttributed, Model::kGcn, Variant::kHard},
                                     {Prior::kAttributed, Model::kGraphSage, Variant::kHard},
                                     {Prior::kAttributed, Model::kGat, Variant::kHybrid},
                                     {Prior::kAttributed, Model::kGat, Variant::kSoft},
                                     {Prior::kBeta, Model::kGat, Variant::kHybrid},
                                     {Prior::kAttributed, Model::kGat, Variant::kHard}};

absl::Span<const Pair> PairsOf(Prior prior) {
  return prior == Prior::kAttributed ? absl::Span<const Pair>(kAttributedPairs) : absl::Span<const Pair>(kBetaPairs);
}

}  // namespace

absl::StatusOr<CandidateGrid> CandidateGrid::Create(const v1::TrainingSpec& spec, bool estimated,
                                                    const ProblemSize& size) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.candidates() == 0) return absl::InvalidArgumentError("the training specification asks for no search");
  CandidateGrid grid;
  grid.prior_ = FromProto(normal.prior()).value_or(Prior::kBeta);
  grid.AddPairs(normal, grid.prior_, estimated, size);
  if (grid.pairs_.empty()) grid.TakeTheLeastCostly(size);
  for (const Prior prior : {Prior::kBeta, Prior::kAttributed}) grid.RestrictSettings(normal, prior);
  grid.taken_.assign(grid.pairs_.size(), 0);
  size_t all = 0;
  for (size_t pair = 0; pair < grid.pairs_.size(); ++pair) all += grid.CountOf(pair);
  grid.count_ = static_cast<int>(std::min<size_t>(normal.candidates(), all));
  return grid;
}

void CandidateGrid::AddPairs(const v1::TrainingSpec& normal, Prior search_prior, bool estimated,
                             const ProblemSize& size) {
  const bool takes_variant = estimated && TakesVariant(FromProto(normal.model()).value_or(Model::kGcn));
  const bool named =
      normal.model() != v1::MODEL_UNSPECIFIED && (!takes_variant || normal.variant() != v1::VARIANT_UNSPECIFIED);
  std::vector<Model> without_variant;  // models of which there is one pair only, and it is there
  for (const auto& [prior, model, variant] : PairsOf(search_prior)) {
    const bool has_variant = estimated && TakesVariant(model);
    if (FromProto(normal.model()).value_or(model) != model) continue;
    if (has_variant && FromProto(normal.variant()).value_or(variant) != variant) continue;
    if (!has_variant) {
      if (std::find(without_variant.begin(), without_variant.end(), model) != without_variant.end()) continue;
      without_variant.push_back(model);
    }
    Candidate candidate = CandidateOf(normal, prior, model, variant);
    if (!has_variant) candidate.variant.reset();
    // Those of the beta prior and the MLP train as they do alone: they are there so that the choice is not worse than
    // theirs.
    if (candidate.prior == Prior::kAttributed && IsNetwork(model) && !normal.has_patience()) {
      candidate.options.patience = kAttributedPatience;
    }
    const bool insisted = AttendsAllPairs(candidate) ? normal.allow_slow_attention() : named;
    const double limit =
        search_prior == Prior::kAttributed && prior == Prior::kBeta ? kBesideSecondsMax : kNominalSecondsMax;
    const bool costly = !insisted && NominalSeconds(candidate, size) > limit;
    (costly ? too_costly_ : pairs_).push_back(std::move(candidate));
  }
}

void CandidateGrid::RestrictSettings(const v1::TrainingSpec& normal, Prior prior) {
  std::vector<Setting>& left = prior == Prior::kAttributed ? attributed_settings_ : beta_settings_;
  for (const Setting& setting : Settings(prior)) {
    const Setting restricted{normal.learning_rate() > 0 ? normal.learning_rate() : setting.learning_rate,
                             normal.has_weight_decay() ? normal.weight_decay() : setting.weight_decay,
                             normal.has_dropout() ? normal.dropout() : setting.dropout,
                             normal.hidden() > 0 ? static_cast<int>(normal.hidden()) : setting.hidden};
    if (std::find(left.begin(), left.end(), restricted) == left.end()) left.push_back(restricted);
  }
}

const std::vector<CandidateGrid::Setting>& CandidateGrid::SettingsOf(size_t pair) const {
  return pairs_[pair].prior == Prior::kAttributed ? attributed_settings_ : beta_settings_;
}

size_t CandidateGrid::CountOf(size_t pair) const {
  return IsNetwork(pairs_[pair].options.model) ? SettingsOf(pair).size() : 1;
}

std::string CandidateGrid::WhyLeftOut(const Candidate& candidate, const ProblemSize& size) const {
  const double seconds = NominalSeconds(candidate, size);
  if (prior_ == Prior::kBeta || candidate.prior == Prior::kAttributed || seconds > kNominalSecondsMax)
    return WhyTooCostly(candidate, size);
  return absl::StrFormat(
      "it takes about %.0f minutes of one core, and beside the attributed prior no more than %g are spent on a "
      "candidate of "
      "the beta prior: search with --prior beta",
      seconds / 60, kBesideSecondsMax / 60);
}

// How many links there are is known only when the reports are spent, and then a search must not come to nothing for it.
void CandidateGrid::TakeTheLeastCostly(const ProblemSize& size) {
  const auto cost = [&](const Candidate& pair) {
    return AttendsAllPairs(pair) ? std::numeric_limits<double>::infinity() : NominalSeconds(pair, size);
  };
  const auto least = std::min_element(too_costly_.begin(), too_costly_.end(),
                                      [&](const Candidate& a, const Candidate& b) { return cost(a) < cost(b); });
  if (least == too_costly_.end() || AttendsAllPairs(*least)) return;
  pairs_.push_back(std::move(*least));
  too_costly_.erase(least);
}

CandidateGrid::Entry CandidateGrid::Take(size_t pair) {
  Entry entry{pair, pairs_[pair]};
  const size_t taken = taken_[pair]++;
  ++given_;
  if (!IsNetwork(entry.candidate.options.model)) return entry;
  const Setting& setting = SettingsOf(pair)[taken];
  entry.candidate.options.learning_rate = setting.learning_rate;
  entry.candidate.options.weight_decay = setting.weight_decay;
  entry.candidate.options.dropout = setting.dropout;
  if (setting.hidden > 0) entry.candidate.options.hidden = setting.hidden;
  return entry;
}

std::vector<CandidateGrid::Entry> CandidateGrid::NextBatch(const std::vector<size_t>& ranking) {
  constexpr size_t kFirstAttributed = 6;  // pairs, up to GraphSAGE on Soft where none is ruled out
  std::vector<Entry> batch;
  const auto full = [&] { return given_ == count_; };
  if (next_pair_ < pairs_.size()) {
    const size_t end =
        prior_ == Prior::kAttributed && next_pair_ == 0 ? std::min(kFirstAttributed, pairs_.size()) : pairs_.size();
    for (; next_pair_ < end && !full(); ++next_pair_) batch.push_back(Take(next_pair_));
    return batch;
  }
  // Pairs that go on: 4, 2, 1, 1, ... of the best that have settings left; and about as many candidates every time.
  constexpr size_t kBatch = 8;
  const size_t going_on = std::max<size_t>(1, kBatch >> std::min(++later_batches_, 10));
  size_t found = 0;
  for (const size_t pair : ranking) {
    if (found == going_on) break;
    if (taken_[pair] == CountOf(pair)) continue;
    ++found;
    for (size_t k = 0; k < kBatch / going_on && taken_[pair] < CountOf(pair) && !full(); ++k)
      batch.push_back(Take(pair));
  }
  return batch;
}

}  // namespace blink
