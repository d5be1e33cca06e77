// What `blink audit links` is asked for. Needs no LibTorch, so that a wrong command line is refused without it.
#ifndef BLINK_TOOLS_LINK_AUDIT_OPTIONS_H_
#define BLINK_TOOLS_LINK_AUDIT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "blink/v1/operator.pb.h"
#include "common/privacy/parameters.h"

namespace blink {

inline constexpr size_t kAuditedBudgetsMax = 32;
inline constexpr int kAuditTrialsMax = 1000;
inline constexpr uint32_t kInfluenceNodesMax = 100'000;

struct LinkAuditOptions {
  std::string dataset;  // data-set folder, with the links
  std::vector<uint64_t> epsilon_micro = {1'000'000, 2'000'000, 4'000'000, 8'000'000};
  std::optional<uint64_t> degree_share_ppm;  // default DefaultDegreeSharePpm
  v1::TrainingSpec training;  // of the models that are attacked; the prior and variant of the reports too
  int trials = 5;             // trial t draws anew, and trains with seed + t
  uint64_t seed = 1;
  uint32_t influence_nodes = 500;      // of each group of nodes, whose features are changed
  std::optional<uint64_t> split_seed;  // of a new split of the nodes, in place of the data set's
  int threads = 0;                     // 0: all cores
  bool insecure_seeded_noise = false;  // NOT PRIVATE
  bool ignore_memory = false;          // start even where the machine has too little
  bool progress = true;                // on standard error
};

// INVALID_ARGUMENT, naming the flag and the remedy; reads nothing.
absl::Status ValidateLinkAuditOptions(const LinkAuditOptions& options);

// Of the first trial, normalised: one model and no search, also where the prior's default is one.
absl::StatusOr<v1::TrainingSpec> TrainingOf(const LinkAuditOptions& options);

// Of the reports at one of the budgets.
absl::StatusOr<PrivacyParameters> ParametersOf(const LinkAuditOptions& options, uint64_t epsilon_micro, uint32_t nodes);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_OPTIONS_H_
