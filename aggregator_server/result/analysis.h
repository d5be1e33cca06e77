// What an analysis of a round's reports came to: the checks, the estimates of the links, and what was trained on them.
// worker/analyse.h makes it; result_folder.h writes it.
#ifndef BLINK_AGGREGATOR_SERVER_RESULT_ANALYSIS_H_
#define BLINK_AGGREGATOR_SERVER_RESULT_ANALYSIS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator_server/estimate/link_estimate.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/plausibility/plausibility.h"
#include "aggregator_server/select/candidate.h"
#include "aggregator_server/select/choice.h"
#include "aggregator_server/train/trainer.h"
#include "blink/v1/operator.pb.h"

namespace blink {

// What the plausibility checks found, and what followed from it.
struct Checks {
  v1::Implausible policy = v1::IMPLAUSIBLE_FLAG;
  double false_alarm = kFalseAlarm;
  Plausibility found;
  uint32_t dropped = 0;  // reports that the estimate was made without
  // The smallest number of links that one node can claim or hide and is flagged with this probability, if all report
  // (detection_power.h).
  std::optional<uint32_t> lie_seen_half, lie_seen_95;
};

// The links, as each prior that was asked for sees them.
struct Estimates {
  LinkEstimate beta;  // always there: some candidates of the attributed prior are trained on it, and it is there to
                      // compare with
  std::optional<LinkEstimate> attributed;  // where the training asks for this prior

  Prior prior() const { return attributed ? Prior::kAttributed : Prior::kBeta; }  // that was asked for
  const LinkEstimate& Of(Prior prior) const { return prior == Prior::kAttributed && attributed ? *attributed : beta; }
  // The links that the result reports.
  const LinkPosterior& BestGuess() const { return Of(prior()).BestGuess(); }
};

// What the reports were analysed with. Public, so that a result may name it.
struct DatasetFacts {
  std::string name;  // of its folder
  uint32_t nodes = 0, features = 0, classes = 0;
  std::string attributes_sha256;  // DigestOfAttributes (common/graph/dataset_digest.h), hexadecimal
};

// The degree of each node, by empirical Bayes from its noisy degree and from all bits about its pairs, whatever the
// prior of the links.
struct NodeDegrees {
  std::vector<double> mean, deviation;  // [n] of the degree's posterior
};

struct Analysis {
  DatasetFacts dataset;
  Checks checks;
  Estimates estimates;
  NodeDegrees degrees;
  uint64_t tie_seed = 0;
  Candidate trained;                   // of the model none: which links were asked for
  TrainResult training;                // of the model none empty, but for the threads
  std::vector<Tried> search;           // empty: none was asked for
  std::optional<Tried> features_only;  // the strongest model that reads no report; absent: not asked for, or none

  bool has_model() const { return trained.options.model != Model::kNone; }
};

// The links that `trained` saw; of the model none those that were asked for:
//   a model with a variant       those of its variant, under its prior
//   stacked or an ensemble, of the attributed prior    the Soft ones
//   any other                    none: null
const LinkWeights* LinksSeen(const Estimates& estimates, const Candidate& trained);

// Figures of LinksSeen. Both are absent where the model saw no links.
struct SeenFigures {
  std::optional<uint64_t> links;  // absent, too, where every pair is weighed
  std::optional<double> weight;   // sum of their weights
};
SeenFigures FiguresOfSeen(const Estimates& estimates, const Candidate& trained);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_RESULT_ANALYSIS_H_
