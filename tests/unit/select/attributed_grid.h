// What a search under the attributed prior would try.
#ifndef BLINK_TESTS_UNIT_SELECT_ATTRIBUTED_GRID_H_
#define BLINK_TESTS_UNIT_SELECT_ATTRIBUTED_GRID_H_

#include <numeric>
#include <vector>

#include "aggregator_server/select/candidate_grid.h"

namespace blink {

inline v1::TrainingSpec AttributedSpec(uint32_t candidates) {
  v1::TrainingSpec spec;
  spec.set_prior(v1::PRIOR_ATTRIBUTED);
  spec.set_candidates(candidates);
  return spec;
}

// All candidates of the grid, where the pairs do as well as they come.
inline std::vector<Candidate> Everything(CandidateGrid grid) {
  std::vector<size_t> ranking(grid.pairs().size());
  std::iota(ranking.begin(), ranking.end(), size_t{0});
  std::vector<Candidate> all;
  for (auto batch = grid.NextBatch({}); !batch.empty(); batch = grid.NextBatch(ranking)) {
    for (const auto& entry : batch) all.push_back(entry.candidate);
  }
  return all;
}

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_SELECT_ATTRIBUTED_GRID_H_
