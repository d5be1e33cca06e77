#include "aggregator_server/estimate/beta/degree_polytope.h"

#include <algorithm>

namespace blink {

bool InsideDegreePolytope(absl::Span<const double> degree, absl::Span<const uint32_t> size) {
  const size_t count = degree.size();
  std::vector<double> nodes_below(count + 1, 0), sum_below(count + 1, 0);  // over the classes before one
  for (size_t a = 0; a < count; ++a) {
    nodes_below[a + 1] = nodes_below[a] + size[a];
    sum_below[a + 1] = sum_below[a] + degree[a] * size[a];
  }
  size_t reaches = 0;  // the first class of degree >= k
  for (size_t a = count; a-- > 0;) {
    const double k = nodes_below[count] - nodes_below[a];
    while (reaches < count && degree[reaches] < k) ++reaches;
    const size_t split =
        std::min(reaches, a);  // of the n-k other nodes those before it count with d, the others with k
    const double others = sum_below[split] + k * (nodes_below[a] - nodes_below[split]);
    if (sum_below[count] - sum_below[a] >= k * (k - 1) + others) return false;
  }
  return true;
}

std::vector<double> ShrunkDegrees(absl::Span<const double> degree, double share) {
  std::vector<double> shrunk;
  shrunk.reserve(degree.size());
  for (const double d : degree) shrunk.push_back(degree.front() + share * (d - degree.front()));
  return shrunk;
}

double GreatestShareInside(absl::Span<const double> degree, absl::Span<const uint32_t> size) {
  double inside = 0, outside = 1;
  for (int k = 0; k < 30; ++k) {
    const double middle = 0.5 * (inside + outside);
    (InsideDegreePolytope(ShrunkDegrees(degree, middle), size) ? inside : outside) = middle;
  }
  return inside;
}

}  // namespace blink
