#include "aggregator_server/result/analysis.h"

#include <numeric>

namespace blink {

const LinkWeights* LinksSeen(const Estimates& estimates, const Candidate& trained) {
  const LinkEstimate& estimate = estimates.Of(trained.prior);
  const Model model = trained.options.model;
  std::optional<Variant> variant = trained.variant;
  if (!variant && estimate.attributed_fit && (model == Model::kStacked || model == Model::kEnsemble)) {
    variant = Variant::kSoft;
  }
  if (!variant) return nullptr;
  const LinkWeights* weights = estimate.Of(*variant);
  return weights != nullptr ? weights : &estimate.hard;
}

SeenFigures FiguresOfSeen(const Estimates& estimates, const Candidate& trained) {
  const LinkWeights* weights = LinksSeen(estimates, trained);
  if (weights == nullptr) return {};
  if (weights->has_background()) return {.weight = estimates.beta.expected_links};  // no other prior has one
  const uint64_t links = weights->links.link_count();
  const double both_directions = std::accumulate(weights->values.begin(), weights->values.end(), 0.0);
  return {.links = links, .weight = weights->values.empty() ? static_cast<double>(links) : both_directions / 2};
}

}  // namespace blink
