// What the aggregator believes about a pair before it looks at the pair's bits. A seam: the posterior, the variants and
// the models do not notice which prior was used.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_LINK_PRIOR_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_LINK_PRIOR_H_

#include <cstdint>

#include "absl/types/span.h"

namespace blink {

// A prior whose log-odds depend on the classes of the two ends alone: a K x K table. The beta-model's is beta_a +
// beta_b.
class LinkPrior {
 public:
  virtual ~LinkPrior() = default;
  virtual absl::Span<const uint32_t> class_of_node() const = 0;          // [n]
  virtual uint32_t class_count() const = 0;                              // K
  virtual double LogOdds(uint32_t class_a, uint32_t class_b) const = 0;  // symmetric, to the last bit
  // LogOdds(class_a, b) for every class b into out[K]: what is asked for K times in the passes over all classes.
  virtual void FillLogOdds(uint32_t class_a, double* out) const {
    for (uint32_t b = 0; b < class_count(); ++b) out[b] = LogOdds(class_a, b);
  }
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_LINK_PRIOR_H_
