#include "aggregator_server/select/candidate_grid.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

// Epochs. Wide layers on clean links are at their best early; but some hardly move for longer than 60.
constexpr int kAttributedPatience = 100;

}  // namespace

absl::StatusOr<CandidateGrid> CandidateGrid::Create(const v1::TrainingSpec& spec, bool estimated,
                                                    const ProblemSize& size) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.candidates() == 0) return absl::InvalidArgumentError("the training specification asks for no search");
  CandidateGrid grid;
  grid.prior_ = FromProto(normal.prior()).value_or(Prior::kBeta);
  grid.cross_validates_ = grid.prior_ == Prior::kAttributed && HasFewLabels(size);
  grid.score_ = FromProto(normal.score());
  grid.count_max_ = normal.candidates();
  grid.ListPairs(normal, estimated);
  for (const Prior prior : {Prior::kBeta, Prior::kAttributed}) grid.RestrictSettings(normal, prior);
  grid.CompleteCosts(size);
  return grid;
}

void CandidateGrid::CompleteCosts(const ProblemSize& size) {
  pairs_.clear();
  too_costly_.clear();
  for (const auto& [candidate, insisted] : listed_) {
    const double limit =
        prior_ == Prior::kAttributed && candidate.prior == Prior::kBeta ? kBesideSecondsMax : kNominalSecondsMax;
    const bool costly = !insisted && NominalSeconds(candidate, size) > limit;
    (costly ? too_costly_ : pairs_).push_back(candidate);
  }
  if (pairs_.empty()) KeepTheLeastCostly(size);
  taken_.assign(pairs_.size(), 0);
  size_t all = 0;
  for (size_t pair = 0; pair < pairs_.size(); ++pair) all += CountSettings(pair);
  const size_t further = cross_validates_ ? count_max_ / 2 : 0;
  count_ = static_cast<int>(std::min(count_max_ + further, all));
}

void CandidateGrid::ListPairs(const v1::TrainingSpec& normal, bool estimated) {
  const bool takes_variant = estimated && TakesVariant(FromProto(normal.model()).value_or(Model::kGcn));
  const bool named =
      normal.model() != v1::MODEL_UNSPECIFIED && (!takes_variant || normal.variant() != v1::VARIANT_UNSPECIFIED);
  std::vector<std::pair<Prior, Model>> without_variant;  // of which there is one pair only, and it is there
  for (const auto& [prior, model, variant] : CandidatePairs(prior_)) {
    const bool has_variant = estimated && TakesVariant(model);
    if (FromProto(normal.model()).value_or(model) != model) continue;
    if (has_variant && FromProto(normal.variant()).value_or(variant) != variant) continue;
    // No batch can be sampled of Soft links; the stacked model needs none.
    if (has_variant && variant == Variant::kSoft && normal.batch_nodes() > 0 && IsNetwork(model)) continue;
    if (!has_variant) {
      // The priors' networks differ in features and settings; their stacked models on the same links are the same.
      const std::pair<Prior, Model> pair(model == Model::kStacked ? Prior::kAttributed : prior, model);
      if (std::find(without_variant.begin(), without_variant.end(), pair) != without_variant.end()) continue;
      without_variant.push_back(pair);
    }
    Candidate candidate = MakeCandidate(normal, prior, model, variant);
    if (!has_variant) candidate.variant.reset();
    // Those of the beta prior and the MLP train as they do alone: they are there so that the choice is not worse than
    // theirs.
    // Where few nodes have a label, all do: their trainings are of a hundred epochs at most, and there are many.
    if ((candidate.prior == Prior::kAttributed || cross_validates_) && IsNetwork(model) && !normal.has_patience()) {
      candidate.options.patience = kAttributedPatience;
    }
    const bool insisted = AttendsAllPairs(candidate) ? normal.allow_slow_attention() : named;
    listed_.push_back({std::move(candidate), insisted});
  }
}

void CandidateGrid::RestrictSettings(const v1::TrainingSpec& normal, Prior prior) {
  std::vector<CandidateSetting>& left = prior == Prior::kAttributed ? attributed_settings_ : beta_settings_;
  for (const CandidateSetting& setting : CandidateSettings(prior, cross_validates_)) {
    const CandidateSetting restricted{normal.learning_rate() > 0 ? normal.learning_rate() : setting.learning_rate,
                                      normal.has_weight_decay() ? normal.weight_decay() : setting.weight_decay,
                                      normal.has_dropout() ? normal.dropout() : setting.dropout,
                                      normal.hidden() > 0 ? static_cast<int>(normal.hidden()) : setting.hidden};
    if (std::find(left.begin(), left.end(), restricted) == left.end()) left.push_back(restricted);
  }
}

const std::vector<CandidateSetting>& CandidateGrid::SettingsOf(size_t pair) const {
  return pairs_[pair].prior == Prior::kAttributed ? attributed_settings_ : beta_settings_;
}

size_t CandidateGrid::CountSettings(size_t pair) const {
  return IsNetwork(pairs_[pair].options.model) ? SettingsOf(pair).size() : 1;
}

std::string CandidateGrid::ExplainLeftOut(const Candidate& candidate, const ProblemSize& size) const {
  const double seconds = NominalSeconds(candidate, size);
  if (prior_ == Prior::kBeta || candidate.prior == Prior::kAttributed || seconds > kNominalSecondsMax)
    return ExplainCost(candidate, size);
  return absl::StrFormat(
      "it takes about %.0f minutes of one core, and beside the attributed prior no more than %g are spent on a "
      "candidate of "
      "the beta prior: search with --prior beta",
      seconds / 60, kBesideSecondsMax / 60);
}

// How many links there are is known only when the reports are spent, and then a search must not come to nothing for it.
void CandidateGrid::KeepTheLeastCostly(const ProblemSize& size) {
  const auto cost = [&](const Candidate& pair) {
    return AttendsAllPairs(pair) ? std::numeric_limits<double>::infinity() : NominalSeconds(pair, size);
  };
  const auto least = std::min_element(too_costly_.begin(), too_costly_.end(),
                                      [&](const Candidate& a, const Candidate& b) { return cost(a) < cost(b); });
  if (least == too_costly_.end() || AttendsAllPairs(*least)) return;
  pairs_.push_back(std::move(*least));
  too_costly_.erase(least);
}

CandidateGrid::Entry CandidateGrid::TakeNext(size_t pair) {
  Entry entry{pair, pairs_[pair]};
  const size_t taken = taken_[pair]++;
  ++given_;
  if (!IsNetwork(entry.candidate.options.model)) return entry;
  const CandidateSetting& setting = SettingsOf(pair)[taken];
  entry.candidate.options.learning_rate = setting.learning_rate;
  entry.candidate.options.weight_decay = setting.weight_decay;
  entry.candidate.options.dropout = setting.dropout;
  if (setting.hidden > 0) entry.candidate.options.hidden = setting.hidden;
  return entry;
}

std::vector<CandidateGrid::Entry> CandidateGrid::NextBatch(const std::vector<size_t>& ranking) {
  // Pairs, up to GraphSAGE on Soft where none is ruled out; on folds up to the models that are no network.
  const size_t first = cross_validates_ ? 4 : 6;
  std::vector<Entry> batch;
  const auto full = [&] { return given_ == count_; };
  if (next_pair_ < pairs_.size()) {
    const size_t end = prior_ == Prior::kAttributed && next_pair_ == 0 ? std::min(first, pairs_.size()) : pairs_.size();
    for (; next_pair_ < end && !full(); ++next_pair_) batch.push_back(TakeNext(next_pair_));
    return batch;
  }
  // Pairs that go on: 4, 2, 1, 1, ... of the best that have settings left; and about as many candidates every time.
  constexpr size_t kBatch = 8;
  const size_t going_on = std::max<size_t>(1, kBatch >> std::min(++later_batches_, 10));
  size_t found = 0;
  for (const size_t pair : ranking) {
    if (found == going_on) break;
    if (taken_[pair] == CountSettings(pair)) continue;
    ++found;
    for (size_t k = 0; k < kBatch / going_on && taken_[pair] < CountSettings(pair) && !full(); ++k)
      batch.push_back(TakeNext(pair));
  }
  return batch;
}

}  // namespace blink
