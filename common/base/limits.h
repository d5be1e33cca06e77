// Limits on everything that arrives from outside. docs/PROTOCOL.md lists them for authors of other clients.
#ifndef BLINK_COMMON_BASE_LIMITS_H_
#define BLINK_COMMON_BASE_LIMITS_H_

#include <cstdint>

namespace blink {

inline constexpr uint32_t kNodesMin = 3;
inline constexpr uint32_t kNodesMax = 10'000'000;
inline constexpr uint64_t kEpsilonMicroMax = 50'000'000;
inline constexpr uint32_t kPartsPerMillion = 1'000'000;
inline constexpr uint32_t kChunkBytesMax = 64 << 10;              // one chunk of SubmitReport
inline constexpr uint32_t kStreamReportBytesMax = 1 << 20;        // one report of SubmitReports
inline constexpr uint32_t kCodedBytesMax = kNodesMax / 8 + 1024;  // one report, coded
inline constexpr int kMessageBytesMax = 2 << 20;                  // one gRPC message
inline constexpr uint32_t kRetryWindowMsMax = 86'400'000;
inline constexpr uint32_t kRoundsListedMax = 64;
inline constexpr uint32_t kGroupsMax = 1000;            // of Mechanism::kGroupDegrees
inline constexpr uint32_t kGroupsPartBytes = 64 << 10;  // one reply of GetGroups
inline constexpr uint32_t kNameCharactersMax = 64;      // of a deployment, operator or kit

}  // namespace blink

#endif  // BLINK_COMMON_BASE_LIMITS_H_
