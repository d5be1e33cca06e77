// Which pairs are links of the variant Hybrid, whatever the prior: the floor(||P||_1) with the largest P, and at the
// cut those with the smallest hash.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_HYBRID_CUT_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_HYBRID_CUT_H_

#include <cstdint>

#include "common/privacy/bit_row.h"

namespace blink {

// How many pairs are links, if the probabilities of all unordered pairs sum to `expected_links`. ||P||_1 counts both
// directions, which are chosen together. The sum may fall short of the number that it stands for by an error of the
// prior and of rounding, so 1e-6 links are added before it is rounded down.
uint64_t HybridLinkCount(double expected_links);

// 64 well-mixed bits of the pair, i < j. The same seed chooses the same ties again. No node is favoured in every round,
// as it would be by an order of the nodes.
//
// Security: the hash is no secret. The seed of a round follows from its id, which nodes see before they report. A node
// that sends a false report can know which of its pairs a tie will take. It gains nothing by that: a false report can
// make its pairs likelier than all others anyway.
uint64_t TieHash(uint64_t tie_seed, NodeIndex i, NodeIndex j);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_HYBRID_CUT_H_
