// What the budget of a round means, in words for people who know no differential privacy. Every sentence is a statement
// of common/privacy/README.md or docs/THREAT_MODEL.md with the round's numbers in it.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_PRIVACY_WORDS_H_
#define BLINK_AGGREGATOR_SERVER_WEB_PRIVACY_WORDS_H_

#include <cstdint>

#include "aggregator_server/web/json.h"
#include "common/privacy/parameters.h"

namespace blink {

// {"epsilon": .., "costs": [{"what": "one link", "epsilon": .., "words": ".."}, ..], "noise": [".."],
//  "not_protected": [".."]}
Json PrivacyWords(const PrivacyParameters& parameters);

// The largest chance that somebody can give to something after what costs `epsilon`, who gave it the chance `before`.
double ChanceAfter(double before, double epsilon);
// The smallest k for which discrete Laplace noise of scale 1 / `epsilon` is at most k with probability 95 %.
uint64_t DegreeNoise95(double epsilon);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_PRIVACY_WORDS_H_
