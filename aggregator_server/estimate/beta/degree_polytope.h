// The degree sequences that graphs can have on average: the polytope whose interior is where the beta-model has a
// finite maximum of its likelihood (Rinaldo, Petrovic and Fienberg 2013). All over classes of nodes of equal degree.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_DEGREE_POLYTOPE_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_DEGREE_POLYTOPE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace blink {

// Whether degrees [K], not descending, >= 1 and <= n-2, each of size[a] nodes, lie strictly inside. O(K). Exact for
// integers while n^2 < 2^53.
//
// With d_1 >= ... >= d_n they do exactly when f(k) = k (k-1) + sum_{i>k} min(d_i, k) - sum_{i<=k} d_i > 0 for every k
// from 1 to n: Erdos and Gallai's inequalities, strict. Only the ends k of runs of equal degrees need looking at:
// within a run of degree d, f(k+1) - f(k) does not rise with k while k < d, and is not negative from there on, so that
// f is nowhere in a run below the lesser of its two ends; and f(0) = 0 begins a run on which f is concave.
bool InsideDegreePolytope(absl::Span<const double> degree, absl::Span<const uint32_t> size);

// lowest + share * (degree - lowest), [K].
std::vector<double> ShrunkDegrees(absl::Span<const double> degree, double share);

// The greatest share in [0, 1] for which the shrunk degrees lie inside (to 1e-9, from inside). The polytope is convex
// and share 0, a regular graph, lies inside: so there is one, and all below it do as well.
double GreatestShareInside(absl::Span<const double> degree, absl::Span<const uint32_t> size);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_DEGREE_POLYTOPE_H_
