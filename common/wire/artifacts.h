// The files of a result, as GetResult and `blink round result` name them. docs/PROTOCOL.md says what is in them.
//
// The first file is written first and removed last, so a folder that has it is a result.
#ifndef BLINK_COMMON_WIRE_ARTIFACTS_H_
#define BLINK_COMMON_WIRE_ARTIFACTS_H_

#include <array>

namespace blink {

struct Artifact {
  const char* name;
  bool always;  // false: missing in a result of an older aggregator, or for some models
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
