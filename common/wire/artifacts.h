// The files of a result, as GetResult and `blink round result` name them. docs/PROTOCOL.md says what is in them.
//
// The first file is written first and removed last, so a folder that has it is a result.
#ifndef BLINK_COMMON_WIRE_ARTIFACTS_H_
#define BLINK_COMMON_WIRE_ARTIFACTS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace blink {

struct Artifact {
  enum Presence {
    kAlways,
    kWithModel,  // where a model was trained
    kWithLinks,  // but of a round that asked about random groups
    kSometimes,  // missing in a result of an older aggregator, for some models, or for some mechanisms
  };
  const char* name;
  Presence presence;
};

inline constexpr absl::string_view kMetrics = "metrics.json";
inline constexpr uint64_t kMetricsBytesMax = 1 << 20;

inline constexpr std::array<Artifact, 10> kArtifacts = {{{"metrics.json", Artifact::kAlways},
                                                         {"predictions.csv", Artifact::kWithModel},
                                                         {"curves.csv", Artifact::kWithModel},
                                                         {"links.csv", Artifact::kWithLinks},
                                                         {"links.npz", Artifact::kSometimes},
                                                         {"degrees.csv", Artifact::kSometimes},
                                                         {"plausibility.csv", Artifact::kSometimes},
                                                         {"groups.csv", Artifact::kSometimes},
                                                         {"model.pt", Artifact::kWithModel},
                                                         {"model.ts", Artifact::kSometimes}}};

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_ARTIFACTS_H_
