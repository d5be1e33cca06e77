// The flags that say what to train, as `blink simulate` and `blink round create` share them.
#ifndef BLINK_TOOLS_TRAINING_FLAGS_H_
#define BLINK_TOOLS_TRAINING_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "blink/v1/operator.pb.h"

namespace blink {

inline constexpr uint32_t kCandidatesDefault = 24;  // --tune without a number

struct TrainingFlags {
  std::optional<std::string> variant, model, node_features, device;
  std::optional<double> learning_rate, weight_decay, dropout;
  std::optional<uint32_t> epochs, hidden, layers, patience;
  bool balance_classes = false, deterministic = false;
  std::string tune;  // empty: without a number
  const CLI::Option* tune_option = nullptr;

  // Keeps pointers to the members until the command line has been parsed.
  void AddTo(CLI::App* command);

  // What was given, nothing else. INVALID_ARGUMENT, naming flag or field and range.
  absl::StatusOr<v1::TrainingSpec> Spec() const;
};

}  // namespace blink

#endif  // BLINK_TOOLS_TRAINING_FLAGS_H_
