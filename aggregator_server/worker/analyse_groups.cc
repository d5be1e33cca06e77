#include "aggregator_server/worker/analyse_groups.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/select/trainable.h"
#include "common/base/limits.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr double kTrimmedDegrees = 0.05;  // so many nodes may lie about their degrees

absl::Status CheckSpec(const GroupAnswers& answers, const v1::TrainingSpec& spec) {
  BLINK_RETURN_IF_ERROR(CheckNeedsNoPosterior(spec));
  if (!answers.round.follows().empty() || spec.model() == v1::MODEL_NONE) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("round ", answers.round.round_id(),
                   " asked about random groups, from which no links can be drawn: nothing can be trained on its "
                   "answers. Open a round that follows it (blink round create --follows ",
                   answers.round.round_id(), ")"));
}

absl::Status TrainOnDrawnLinks(const NodeAttributes& attributes, const v1::TrainingSpec& spec,
                               const AnalysisOptions& options, GroupAnalysis& analysis) {
  BLINK_ASSIGN_OR_RETURN(TrainedModel model,
                         TrainOnLinks(*analysis.links, attributes, spec, TrainingOptionsOf(options)));
  analysis.trained = std::move(model.trained);
  analysis.training = std::move(model.result);
  analysis.search = std::move(model.search);
  analysis.features_only = std::move(model.features_only);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GroupAnalysis> AnalyseGroups(GroupAnswers answers, const NodeAttributes& attributes,
                                            const v1::TrainingSpec& spec, const AnalysisOptions& options) {
  const uint32_t n = answers.parameters.node_count();
  BLINK_RETURN_IF_ERROR(CheckNodes(n, attributes));
  BLINK_RETURN_IF_ERROR(CheckSpec(answers, spec));
  const bool trains = spec.model() != v1::MODEL_NONE;
  if (trains) BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec, attributes, /*estimated=*/false, /*flip_probability=*/0));
  GroupAnalysis analysis{.dataset = MakeDatasetFacts(options.dataset_name, attributes),
                         .asked = answers.asked.count,
                         .follows = answers.round.follows()};
  analysis.training.threads = ThreadsOrCores(options.threads);
  const auto tell = [&](double fraction, const char* text) {
    if (options.progress) {
      options.progress(Stage::kEstimating, fraction, absl::StrCat(text, " from ", answers.reports, " reports"));
    }
  };
  GroupAnswersRead read{std::move(answers.asked), std::move(answers.reported), std::move(answers.degrees)};
  analysis.noise_links_of_answer = NoiseLinksOfAnswer(answers.parameters.epsilon(), analysis.asked);
  analysis.implausible = FindImplausibleAnswers(read, answers.parameters.epsilon());
  if (!analysis.implausible.empty() && analysis.implausible.size() == answers.reports) {
    return absl::FailedPreconditionError(absl::StrCat("all ", answers.reports, " answers are implausible: ask why"));
  }
  for (const NodeIndex node : analysis.implausible) read.answered.Clear(node);
  if (analysis.follows.empty()) {
    tell(0, "grouping the nodes");
    const double of_both = 2 * answers.parameters.epsilon();
    BLINK_ASSIGN_OR_RETURN(analysis.next, FindNextGroups(std::move(read), of_both,
                                                         {.groups_max = std::min(kGroupsMax, GroupsInAnHour(n)),
                                                          .trimmed = kTrimmedDegrees,
                                                          .seed = spec.seed(),
                                                          .threads = options.threads}));
    tell(1, "grouped the nodes");
    return analysis;
  }
  tell(0, "drawing links");
  BLINK_ASSIGN_OR_RETURN(analysis.links, DrawGroupLinks(std::move(read), spec.seed(), options.threads));
  tell(1, "drew links");
  if (trains) BLINK_RETURN_IF_ERROR(TrainOnDrawnLinks(attributes, spec, options, analysis));
  return analysis;
}

}  // namespace blink
