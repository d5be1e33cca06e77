#include "aggregator_server/analysis/candidates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

// `normal`: a normalised spec.
Candidate CandidateOf(const v1::TrainingSpec& normal) {
  Candidate candidate;
  TrainOptions& options = candidate.options;
  options.model = FromProto(normal.model()).value_or(options.model);
  if (options.model != Model::kMlp) candidate.variant = FromProto(normal.variant()).value_or(Variant::kHard);
  options.learning_rate = normal.learning_rate();
  options.weight_decay = normal.weight_decay();
  options.dropout = normal.dropout();
  options.epochs = static_cast<int>(normal.epochs());
  options.hidden = static_cast<int>(normal.hidden());
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

// Seconds of all the attention over every pair of nodes. Per pair a pass costs about 20 operations and 2 per column of the layer (1
// without a gradient), eight at once: measured with AVX2, and right within a factor of about two.
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
                      candidate.variant ? VariantName(*candidate.variant) : "");
}

std::string CandidateName(const Candidate& candidate) {
  const TrainOptions& options = candidate.options;
  return absl::StrCat(PairName(candidate), ", learning rate ", options.learning_rate, ", weight decay ",
                      options.weight_decay, ", dropout ", options.dropout);
}

bool AttendsAllPairs(const Candidate& candidate) {
  return candidate.options.model == Model::kGat && candidate.variant == Variant::kSoft;
}

std::string WhyTooCostly(const Candidate& candidate, const ProblemSize& size) {
  const std::string takes = absl::StrFormat("it takes about %.1f hours of one core, and more than %g are not spent unasked: ",
                                            NominalSeconds(candidate, size) / 3600, kNominalSecondsMax / 3600);
  if (!AttendsAllPairs(candidate)) return takes + "name its model and variant to train it all the same";
  return takes + "use Hard or Hybrid links, GCN or GraphSAGE, or fewer epochs, or insist with allow_slow_attention "
                 "(--allow-slow-attention)";
}

absl::StatusOr<Candidate> CandidateFromSpec(const v1::TrainingSpec& spec) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.candidates() > 0) return absl::InvalidArgumentError("the training specification asks for a search");
  return CandidateOf(normal);
}

double NominalSeconds(const Candidate& candidate, const ProblemSize& size) {
  constexpr double kMultiplicationsPerSecond = 4e9;
  constexpr double kPasses = 3;        // forward and backward for the training, forward for the evaluation
  constexpr double kExponential = 30;  // multiplications that an attention coefficient costs
  const TrainOptions& options = candidate.options;
  const double n = size.nodes, p = size.flip_probability;
  const bool soft = candidate.variant == Variant::kSoft;
  // Pairs in both directions that have a weight of their own.
  const double own = 2 * size.links + (soft ? n * n * (1 - (1 - p) * (1 - p)) : 0);
  const double width = static_cast<double>(options.hidden) * (options.layers - 1) + size.classes;
  double products = static_cast<double>(size.feature_values) * options.hidden + n * options.hidden * width;
  if (options.model == Model::kGat) {
    if (!soft) products += (own + n) * (width + kExponential * options.layers);
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
  const double width = static_cast<double>(options.hidden) * (options.layers - 1) + size.classes;
  double bytes = size.feature_values * kFeatureCopies * kEntryBytes + n * width * kLayerCopies * sizeof(float);
  if (options.model == Model::kMlp) return bytes;
  bytes += 2 * size.links * 2 * kEntryBytes * (options.model == Model::kGat ? options.layers : 1);
  // Of a soft pair with a one either an entry, or two bits of n^2.
  if (candidate.variant == Variant::kSoft) bytes += std::min(n * n * (1 - (1 - p) * (1 - p)) * 2 * kEntryBytes, n * n / 2);
  return bytes;
}

// The published learning rates and weight decays, but for their dropouts, which hardly differ, a strong one too. In the
// order in which they were the best so far on citation graphs; the second and the third differ from the first in all.
const CandidateGrid::Setting CandidateGrid::kSettings[] = {
    {0.01, 1e-4, 0.1}, {0.1, 1e-3, 0.1},   {0.01, 1e-4, 0.5}, {0.01, 1e-3, 0.1},  {0.1, 1e-4, 0.1},  {0.01, 1e-4, 0.01},
    {0.1, 1e-3, 0.01}, {0.01, 1e-3, 0.01}, {0.1, 1e-4, 0.5},  {0.01, 1e-5, 0.5},  {0.1, 1e-4, 0.01}, {0.1, 1e-3, 0.5},
    {0.01, 1e-3, 0.5}, {0.01, 1e-5, 0.1},  {0.1, 1e-5, 0.1},  {0.01, 1e-5, 0.01}, {0.1, 1e-5, 0.01}, {0.1, 1e-5, 0.5}};

namespace {

// In the order of a search (docs/TUNING.md): the bound without links, then pairs whose variants and models all differ, the
// strongest first, then the others.
constexpr std::pair<Model, Variant> kPairs[] = {
    {Model::kMlp, Variant::kHard},          {Model::kGraphSage, Variant::kSoft}, {Model::kGcn, Variant::kHybrid},
    {Model::kGat, Variant::kHard},          {Model::kGcn, Variant::kSoft},       {Model::kGraphSage, Variant::kHybrid},
    {Model::kGcn, Variant::kHard},          {Model::kGraphSage, Variant::kHard}, {Model::kGat, Variant::kHybrid},
    {Model::kGat, Variant::kSoft}};

}  // namespace

absl::StatusOr<CandidateGrid> CandidateGrid::Create(const v1::TrainingSpec& spec, bool estimated,
                                                    const ProblemSize& size) {
  BLINK_ASSIGN_OR_RETURN(v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.candidates() == 0) return absl::InvalidArgumentError("the training specification asks for no search");
  CandidateGrid grid;
  const bool takes_variant = estimated && normal.model() != v1::MODEL_MLP;
  const bool named =
      normal.model() != v1::MODEL_UNSPECIFIED && (!takes_variant || normal.variant() != v1::VARIANT_UNSPECIFIED);
  std::vector<Model> without_variant;  // models of which there is one pair only, and it is there
  for (const auto& [model, variant] : kPairs) {
    const bool has_variant = estimated && model != Model::kMlp;
    if (FromProto(normal.model()).value_or(model) != model) continue;
    if (has_variant && FromProto(normal.variant()).value_or(variant) != variant) continue;
    if (!has_variant) {
      if (std::find(without_variant.begin(), without_variant.end(), model) != without_variant.end()) continue;
      without_variant.push_back(model);
    }
    v1::TrainingSpec of_pair = normal;
    of_pair.set_model(ToProto(model));
    of_pair.set_variant(ToProto(variant));
    Candidate candidate = CandidateOf(of_pair);
    if (!has_variant) candidate.variant.reset();
    const bool insisted = AttendsAllPairs(candidate) ? normal.allow_slow_attention() : named;
    const bool costly = !insisted && NominalSeconds(candidate, size) > kNominalSecondsMax;
    (costly ? grid.too_costly_ : grid.pairs_).push_back(std::move(candidate));
  }
  if (grid.pairs_.empty()) grid.TakeTheLeastCostly(size);
  for (const Setting& setting : kSettings) {
    const Setting restricted{normal.learning_rate() > 0 ? normal.learning_rate() : setting.learning_rate,
                             normal.has_weight_decay() ? normal.weight_decay() : setting.weight_decay,
                             normal.has_dropout() ? normal.dropout() : setting.dropout};
    const auto known = std::find(grid.settings_.begin(), grid.settings_.end(), restricted);
    if (known == grid.settings_.end()) grid.settings_.push_back(restricted);
  }
  grid.taken_.assign(grid.pairs_.size(), 0);
  grid.count_ = static_cast<int>(std::min<size_t>(normal.candidates(), grid.pairs_.size() * grid.settings_.size()));
  return grid;
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
  const Setting& setting = settings_[taken_[pair]++];
  entry.candidate.options.learning_rate = setting.learning_rate;
  entry.candidate.options.weight_decay = setting.weight_decay;
  entry.candidate.options.dropout = setting.dropout;
  ++given_;
  return entry;
}

std::vector<CandidateGrid::Entry> CandidateGrid::NextBatch(const std::vector<size_t>& ranking) {
  std::vector<Entry> batch;
  const auto full = [&] { return given_ == count_; };
  if (batch_++ == 0) {
    for (size_t pair = 0; pair < pairs_.size() && !full(); ++pair) batch.push_back(Take(pair));
    return batch;
  }
  // Pairs that go on: 4, 2, 1, 1, ... of the best that have settings left; and about as many candidates every time.
  constexpr size_t kBatch = 8;
  const size_t going_on = std::max<size_t>(1, kBatch >> std::min(batch_ - 1, 10));
  size_t found = 0;
  for (const size_t pair : ranking) {
    if (found == going_on) break;
    if (taken_[pair] == settings_.size()) continue;
    ++found;
    for (size_t k = 0; k < kBatch / going_on && taken_[pair] < settings_.size() && !full(); ++k)
      batch.push_back(Take(pair));
  }
  return batch;
}

}  // namespace blink
