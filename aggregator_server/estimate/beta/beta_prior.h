// The beta-model as a prior: logit P = beta_a + beta_b before any bit.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_BETA_PRIOR_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_BETA_PRIOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/link_prior.h"

namespace blink {

// Keeps references to both arguments of its constructor.
class BetaPrior : public LinkPrior {
 public:
  BetaPrior(const DegreeClasses& classes, const BetaModel& model) : classes_(classes), model_(model) {}
  absl::Span<const uint32_t> class_of_node() const override { return classes_.class_of_node; }
  uint32_t class_count() const override { return static_cast<uint32_t>(model_.beta.size()); }
  double LogOdds(uint32_t a, uint32_t b) const override { return model_.beta[a] + model_.beta[b]; }
  void FillLogOdds(uint32_t a, double* out) const override {
    const double* beta = model_.beta.data();
    const double own = beta[a];
    for (size_t b = 0; b < model_.beta.size(); ++b) out[b] = own + beta[b];
  }

 private:
  const DegreeClasses& classes_;
  const BetaModel& model_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_BETA_PRIOR_H_
