// The flags that say what to train. `blink round create`, `blink simulate`, `blink audit links` and `blink-worker`
// share them.
#ifndef BLINK_COMMON_CLI_TRAINING_FLAGS_H_
#define BLINK_COMMON_CLI_TRAINING_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "blink/v1/operator.pb.h"
#include "common/cli/progress.h"

namespace blink {

// Which trainings a command takes, and its help offers.
enum class TrainingKind {
  kAny,
  kOneOfLinks  // one, without a search, of a model that the links reach through layers
};

struct TrainingFlags {
  std::optional<std::string> prior, variant, model, node_features, device, score;
  std::optional<double> learning_rate, weight_decay, dropout;
  // Of 64 bits, so that Spec can name the range of a number that is too large for it.
  std::optional<uint64_t> epochs, hidden, layers, patience, batch_nodes;
  std::vector<uint64_t> fan_out;
  // A flag that may be absent. CLI11 has no such state for a bool, but its option knows whether it was given.
  struct Flag {
    bool value = false;
    const CLI::Option* option = nullptr;
    bool given() const { return option != nullptr && option->count() > 0; }
  };
  Flag balance_classes, deterministic, allow_slow_attention;
  std::string tune;  // as it was written, or the default for --tune alone
  const CLI::Option* tune_option = nullptr;

  // CLI11 keeps pointers to the members until the command line has been parsed.
  void AddTo(CLI::App* command, TrainingKind kind = TrainingKind::kAny);

  // What was given, and nothing else. --tune 0 and --balance-classes=false are set too, so that they override what a
  // round says. Returns INVALID_ARGUMENT, naming the flag or field and its range.
  absl::StatusOr<v1::TrainingSpec> Spec() const;
};

// Who says how long a training with `spec` still takes: the text of a single training does, that of a search does not.
TimeLeft TimeLeftOfTraining(const v1::TrainingSpec& spec);

// Rewords "training.weight_decay is 2, ..." as "--weight-decay is 2, ...", for a person who typed flags.
absl::Status NamingTheFlag(const absl::Status& status);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_TRAINING_FLAGS_H_
