// The files of a result, as GetResult and `blink round result` name them (docs/PROTOCOL.md says what is in them). The
// first is written first and removed last, and a folder is known by it.
#ifndef BLINK_COMMON_WIRE_ARTIFACTS_H_
#define BLINK_COMMON_WIRE_ARTIFACTS_H_

#include <array>

namespace blink {

struct Artifact {
  const char* name;
  bool always;  // the others an older aggregator, or a round of one, does not have, nor every model
};

inline constexpr std::array<Artifact, 8> kArtifacts = {{{"metrics.json", true},
                                                        {"predictions.csv", true},
                                                        {"curves.csv", true},
                                                        {"links.csv", true},
                                                        {"links.npz", false},
                                                        {"plausibility.csv", false},
                                                        {"model.pt", true},
                                                        {"model.ts", false}}};

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_ARTIFACTS_H_
