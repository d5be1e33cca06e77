// Latent semantic analysis: the few directions in which the rows of a matrix differ most. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_LATENT_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_LATENT_H_

#include <cstdint>
#include <vector>

#include "common/graph/node_attributes.h"

namespace blink {

// [rows, width]: the rows of `matrix` (each of norm 1, or 0) projected on its `width` strongest right singular vectors,
// then of norm 1; 0 where less than 1e-4 of a row lies there, which is rounding. width is at most rows and cols.
//
// Subspace iteration (Halko, Martinsson, Tropp 2011, algorithm 4.4) from a fixed start. It is exact up to rounding for
// at most 160 columns. If the spectrum is flat, the weakest directions span a subspace that holds almost as much.
std::vector<float> LatentRows(const FeatureMatrix& matrix, uint32_t width, int threads);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_LATENT_H_
