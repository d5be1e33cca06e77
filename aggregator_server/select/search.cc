#include "aggregator_server/select/search.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/checkpoint.h"
#include "aggregator_server/train/epoch_text.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/log_probabilities.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// A larger graph keeps all threads busy by itself, and its costliest candidate would be waited for on one.
constexpr uint32_t kNodesSideBySideMax = 20'000;

void SetCheckpoint(const TrainingOptions& options, const std::string& name, TrainOptions& train_options) {
  if (options.checkpoint_folder.empty()) return;
  train_options.checkpoint_file = absl::StrCat(options.checkpoint_folder, "/", name, ".checkpoint");
  train_options.checkpoint_every_s = options.checkpoint_every_s;
}

// What is no network has only its state so far.
void CompleteModelFile(TrainResult& result) {
  if (result.model_bytes.empty() && !result.state.empty()) result.model_bytes = StateDictFile(result.state);
}

class Searcher {
 public:
  Searcher(CandidateGrid grid, const ProblemSize& size, const TrainingSources& sources, const TrainingOptions& options)
      : grid_(std::move(grid)),
        size_(size),
        sources_(sources),
        options_(options),
        threads_(ThreadsOrCores(options.threads)) {}

  absl::StatusOr<TrainedModel> Run() {
    if (!grid_.pairs().empty()) {
      BLINK_ASSIGN_OR_RETURN(device_, ResolveDevice(grid_.pairs().front().options.device));
    }
    for (std::vector<CandidateGrid::Entry> batch = grid_.NextBatch({}); !batch.empty();
         batch = grid_.NextBatch(RankPairs())) {
      TrainBatch(batch);
      BLINK_RETURN_IF_ERROR(fatal_);
    }
    if (!best_) return passed_over_.ok() ? absl::InvalidArgumentError(NothingToTrain()) : passed_over_;
    if (grid_.prior() == Prior::kAttributed) TryEnsembles();
    CompleteModelFile(model_.result);
    model_.search = std::move(tried_);
    model_.result.threads = threads_;  // of the search; the best candidate may have had a share of them
    for (const Candidate& candidate : grid_.too_costly()) {
      model_.search.push_back({.candidate = candidate, .skipped = grid_.ExplainLeftOut(candidate, size_)});
    }
    return std::move(model_);
  }

 private:
  struct OfKind {
    std::optional<size_t> index;  // of the best
    TrainResult result;
  };

  std::string NothingToTrain() const {
    return absl::StrCat("every pair of model and variant that could be searched takes more than ",
                        kNominalSecondsMax / 60,
                        " minutes of one core: name model and variant, or insist with allow_slow_attention "
                        "(--allow-slow-attention)");
  }

  bool IsBetter(const Tried& a, const Tried& b) const { return blink::IsBetter(a, b, grid_.prior()); }

  // The pairs that have been tried, the best first; under the attributed prior those near the best.
  std::vector<size_t> RankPairs() const {
    const std::optional<TargetScore> target = TargetOfNextBatch();
    std::vector<size_t> best_of_pair(grid_.pairs().size(), tried_.size());
    for (size_t k = 0; k < tried_.size(); ++k) {
      size_t& best = best_of_pair[pair_of_[k]];
      if (best == tried_.size() || IsBetter(tried_[k], tried_[best])) best = k;
    }
    std::vector<size_t> ranking;
    for (size_t pair = 0; pair < best_of_pair.size(); ++pair) {
      const size_t best = best_of_pair[pair];
      if (best == tried_.size()) continue;
      if (target && !IsNear(tried_[best], BestScore(), grid_.prior(), NearScore())) continue;
      ranking.push_back(pair);
    }
    std::stable_sort(ranking.begin(), ranking.end(),
                     [&](size_t a, size_t b) { return IsBetter(tried_[best_of_pair[a]], tried_[best_of_pair[b]]); });
    return ranking;
  }

  // What a candidate has to reach so that it is worth its time; none under the beta prior, or where nothing was
  // trained. Of all that was trained before a batch, never of what is trained beside: nothing may depend on which of
  // them is done first.
  std::optional<TargetScore> TargetOfNextBatch() const {
    if (grid_.prior() != Prior::kAttributed || !best_) return std::nullopt;
    return TargetScore{.score = BestScore() - kNearScore, .loss_weight = LossWeight(grid_.prior())};
  }
  double NearScore() const { return sources_.folds == nullptr ? kNearScore : NearScoreOf(ChoosingNodes()); }
  double BestScore() const { return Score(tried_[*best_], grid_.prior()); }

  void TrainBatch(const std::vector<CandidateGrid::Entry>& batch) {
    const size_t first = tried_.size();
    for (const CandidateGrid::Entry& entry : batch) {
      tried_.push_back({.candidate = entry.candidate});
      pair_of_.push_back(entry.pair);
    }
    target_ = TargetOfNextBatch();
    if (target_ && sources_.folds != nullptr && grid_.score() == Measure::kAccuracy)
      race_ = FoldRace{model_.result.logits, target_->loss_weight};
    size_t next = first;
    const int workers = WorkersFor(batch);
    RunOnThreads(workers, [&](int) {
      while (TrainNext(next, workers)) {
      }
    });
  }

  // How many of them are trained at a time.
  int WorkersFor(const std::vector<CandidateGrid::Entry>& batch) const {
    if (device_ != "cpu" || size_.nodes > kNodesSideBySideMax) return 1;
    double largest = 1;
    for (const CandidateGrid::Entry& entry : batch) largest = std::max(largest, TrainingBytes(entry.candidate, size_));
    const double fitting = std::min(kSideBySideBytesMax / largest, static_cast<double>(batch.size()));
    return std::max(1, std::min(threads_, static_cast<int>(fitting)));
  }

  // Trains the next candidate of those in tried_; false when there is none.
  bool TrainNext(size_t& next, int workers) {
    size_t index = 0;
    Candidate candidate;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (next == tried_.size() || stopping_ || !fatal_.ok()) return false;
      index = next++;
      candidate = tried_[index].candidate;
    }
    candidate.options.device = device_;
    if (grid_.score() == Measure::kAccuracy) candidate.options.target = target_;  // which is about accuracy
    candidate.options.threads = std::max(1, threads_ / workers);
    SetCheckpoint(options_, absl::StrCat("candidate-", index + 1), candidate.options);
    double told = 0;
    candidate.options.progress = [&](int epoch, double) {
      ReportProgress(index, static_cast<double>(epoch) / candidate.options.epochs, told);
    };
    try {
      absl::StatusOr<TrainResult> result =
          sources_.folds == nullptr ? TrainCandidate(candidate, sources_) : TrainOnFolds(candidate, sources_, race_);
      ReportProgress(index, 1, told);
      TakeResult(index, std::move(result));
    } catch (...) {  // not Train's: the other threads need not begin another candidate
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      throw;
    }
    return true;
  }

  void TakeResult(size_t index, absl::StatusOr<TrainResult> result) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!result.ok()) {
      tried_[index].skipped = std::string(result.status().message());
      if (!IsPassedOver(result.status())) fatal_ = result.status();
      if (passed_over_.ok() || index < passed_over_index_) {
        passed_over_ = result.status();
        passed_over_index_ = index;
      }
      return;
    }
    FillTried(*result, grid_.score(), tried_[index]);
    if (grid_.prior() == Prior::kAttributed) KeepBestOfKind(index, *result);
    KeepBest(index, *std::move(result));
  }

  // Of equals the first, in whatever order they end.
  bool Replaces(size_t index, const std::optional<size_t>& best) const {
    if (!best) return true;
    return IsBetter(tried_[index], tried_[*best]) || (index < *best && !IsBetter(tried_[*best], tried_[index]));
  }

  void KeepBest(size_t index, TrainResult result) {
    if (!Replaces(index, best_)) return;
    best_ = index;
    model_.trained = tried_[index].candidate;
    model_.result = std::move(result);
  }

  // What means can be made of. A kind is a model under a prior.
  void KeepBestOfKind(size_t index, const TrainResult& result) {
    const Candidate& candidate = tried_[index].candidate;
    OfKind& of_kind = kinds_[{static_cast<int>(candidate.prior), static_cast<int>(candidate.options.model)}];
    if (!Replaces(index, of_kind.index)) return;
    of_kind.index = index;
    of_kind.result = result;
    of_kind.result.model_bytes.clear();  // `state` holds it too
    of_kind.result.script_bytes.clear();
  }

  void TryEnsembles() {
    std::vector<const OfKind*> kinds;
    for (const auto& [key, of_kind] : kinds_) kinds.push_back(&of_kind);
    std::sort(kinds.begin(), kinds.end(), [&](const OfKind* a, const OfKind* b) {
      const Tried &of_a = tried_[*a->index], &of_b = tried_[*b->index];
      return IsBetter(of_a, of_b) || (!IsBetter(of_b, of_a) && *a->index < *b->index);
    });
    std::vector<Candidate> candidates;
    for (const OfKind* kind : kinds) candidates.push_back(tried_[*kind->index].candidate);
    const size_t singles = tried_.size();
    std::vector<std::vector<size_t>> means;
    for (std::vector<size_t> mean : EnsemblesToTry(candidates)) {
      // One name for one mean, whichever member is the best: so that those of several trials can be compared.
      std::sort(mean.begin(), mean.end(),
                [&](size_t a, size_t b) { return PairName(candidates[a]) < PairName(candidates[b]); });
      Candidate candidate{.prior = Prior::kAttributed};
      candidate.options = candidates[mean[0]].options;  // the seed, and what else all have in common
      candidate.options.model = Model::kEnsemble;
      for (const size_t member : mean) candidate.members.push_back(PairName(candidates[member]));
      tried_.push_back({.candidate = std::move(candidate)});
      FillTried(MakeEnsemble(mean, kinds, candidates), grid_.score(), tried_.back());
      means.push_back(std::move(mean));
    }
    const auto result_of = [&](size_t index) {
      if (index >= singles) return MakeEnsemble(means[index - singles], kinds, candidates);
      const auto is_it = [&](const OfKind* kind) { return kind->index == index; };
      return (*std::find_if(kinds.begin(), kinds.end(), is_it))->result;  // the best of all is the best of its kind
    };
    const size_t chosen = ChooseCandidate(tried_, grid_.prior(), ChoosingNodes());
    const std::optional<size_t> features = BestFeaturesOnly(tried_, grid_.prior());
    if (sources_.folds != nullptr && features && ReadsReports(tried_[chosen].candidate) &&
        !ExceedsLuck(ScoresOf(result_of(chosen)), ScoresOf(result_of(*features)))) {
      KeepInstead(*features, result_of(*features));
    } else if (chosen >= singles) {  // otherwise it is the best, which is kept already
      KeepInstead(chosen, result_of(chosen));
    }
  }

  void KeepInstead(size_t index, TrainResult result) {
    best_ = index;
    model_.trained = tried_[index].candidate;
    model_.result = std::move(result);
  }

  std::vector<double> ScoresOf(const TrainResult& result) const {
    std::vector<float> log_probabilities = result.logits;
    LogSoftmaxRows(log_probabilities, sources_.attributes->class_count);
    return NodeScores(log_probabilities, *sources_.folds, *sources_.attributes, LossWeight(grid_.prior()));
  }

  // How many nodes choose.
  size_t ChoosingNodes() const {
    if (sources_.folds != nullptr) return NodesOf(*sources_.folds).size();
    return LabelledNodes(*sources_.attributes, Split::kValidation).size();
  }

  TrainResult MakeEnsemble(const std::vector<size_t>& mean, const std::vector<const OfKind*>& kinds,
                           const std::vector<Candidate>& candidates) const {
    std::vector<const Candidate*> of_members;
    std::vector<const TrainResult*> members;
    for (const size_t member : mean) {
      of_members.push_back(&candidates[member]);
      members.push_back(&kinds[member]->result);
    }
    return EnsembleResult(of_members, members, sources_);
  }

  void ReportProgress(size_t index, double fraction, double& told) {
    if (!options_.progress) return;
    std::lock_guard<std::mutex> lock(mutex_);
    // Shares of the whole in proportion to the cost; what later batches will hold is not known, and counted as average.
    double known = 0;
    for (const Tried& tried : tried_) known += NominalSeconds(tried.candidate, size_);
    const double all = known / static_cast<double>(tried_.size()) * grid_.count();
    done_ += (fraction - told) * NominalSeconds(tried_[index].candidate, size_);
    told = fraction;
    shown_ = std::max(shown_, std::min(1.0, done_ / all));
    options_.progress(shown_, absl::StrCat("candidate ", index + 1, " of ", grid_.count(), ": ",
                                           CandidateName(tried_[index].candidate)));
  }

  CandidateGrid grid_;
  const ProblemSize& size_;
  const TrainingSources& sources_;
  const TrainingOptions& options_;
  const int threads_;
  std::optional<TargetScore> target_;  // of the batch that is trained
  std::optional<FoldRace> race_;       // likewise, on folds
  std::string device_ = "cpu";         // that trains: "cpu" or "cuda:<index>"

  std::mutex mutex_;  // guards what follows while a batch is trained
  std::vector<Tried> tried_;
  std::vector<size_t> pair_of_;  // [tried]
  std::optional<size_t> best_;
  std::map<std::pair<int, int>, OfKind> kinds_;  // by prior and model; of a search under the attributed prior
  TrainedModel model_;
  absl::Status fatal_, passed_over_;
  size_t passed_over_index_ = 0;
  bool stopping_ = false;
  double done_ = 0, shown_ = 0;
};

}  // namespace

void FillTried(const TrainResult& result, Measure score, Tried& tried) {
  tried.best_epoch = result.best_epoch;
  const auto epochs = static_cast<int>(result.validation_losses.size());
  if (IsNetwork(tried.candidate.options.model) && epochs < tried.candidate.options.epochs) tried.ended_after = epochs;
  tried.pruned = result.pruned;
  tried.validation_loss = result.validation_loss;
  tried.validation_accuracy = result.validation_accuracy;
  tried.test_accuracy = result.test_accuracy;
  const double measure = result.validation.Of(score);
  if (score != Measure::kAccuracy && std::isfinite(measure)) tried.validation_measure = measure;
}

bool IsPassedOver(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) || absl::IsFailedPrecondition(status) ||
         absl::IsUnimplemented(status) || absl::IsCancelled(status);
}

absl::StatusOr<TrainedModel> TrainOne(const Candidate& candidate, const TrainingSources& sources,
                                      const TrainingOptions& options) {
  Candidate trained = candidate;
  TrainOptions& train_options = trained.options;
  train_options.threads = options.threads;
  if (!options.checkpoint_folder.empty()) BLINK_RETURN_IF_ERROR(MakeCheckpointFolder(options.checkpoint_folder));
  SetCheckpoint(options, "training", train_options);
  EpochText text(train_options.epochs);
  train_options.progress = [&](int epoch, double) {
    if (options.progress) options.progress(static_cast<double>(epoch) / train_options.epochs, text.At(epoch));
  };
  TrainedModel model{.trained = candidate};
  BLINK_ASSIGN_OR_RETURN(model.result, TrainCandidate(trained, sources));
  try {
    CompleteModelFile(model.result);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat("the model's file could not be made: ", error.what()));
  }
  return model;
}

absl::StatusOr<TrainedModel> Search(CandidateGrid grid, const ProblemSize& size, const TrainingSources& sources,
                                    const TrainingOptions& options) {
  if (!options.checkpoint_folder.empty()) BLINK_RETURN_IF_ERROR(MakeCheckpointFolder(options.checkpoint_folder));
  // Train throws nothing; what is left is the search's own memory, and what the caller's functions throw (on any
  // thread: RunOnThreads carries it here).
  try {
    return Searcher(std::move(grid), size, sources, options).Run();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "the search ran out of memory: use fewer threads, or a machine with more memory");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the search failed: ", error.what()));
  }
}

}  // namespace blink
