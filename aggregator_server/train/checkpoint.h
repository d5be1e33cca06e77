// The state of a training between two epochs, in one file. A training that goes on from it ends with exactly the result
// that it would have had. No LibTorch type.
//
//   magic, version | fingerprint [32] | the fields of Checkpoint | SHA-256 of all before it [32]      little endian
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_CHECKPOINT_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"
#include "common/base/digest.h"

namespace blink {

struct Checkpoint {
  int64_t epoch = 0;  // epochs that are done
  int64_t best_epoch = 0;
  double best_validation_loss = 0;
  double elapsed_ms = 0;                                                      // of all the processes that took part
  std::vector<float> train_losses, validation_losses, validation_accuracies;  // [epoch]
  std::string generator;                                                      // state of the dropout's generator
  std::vector<int64_t> steps;  // Adam's, per parameter; empty: no step yet
  std::vector<std::vector<float>> parameters, first_moments, second_moments;
  std::vector<std::vector<float>> best_parameters;  // empty: no epoch had a finite loss
  std::vector<float> best_logits;                   // [n, classes]
};

// A digest of everything that the result depends on: options, device, weights, attributes and initial parameters. The
// initial parameters also reveal a change in how the program draws them. The weights enter by their products with fixed
// vectors, so their form does not matter.
Digest TrainingFingerprint(const TrainOptions& options, const std::string& device, const LinkWeights& weights,
                           const NodeAttributes& attributes, const std::vector<std::vector<float>>& initial_parameters);

std::string EncodeCheckpoint(const Checkpoint& checkpoint, const Digest& fingerprint);
// INVALID_ARGUMENT: the bytes are no checkpoint; such a file is never overwritten. DATA_LOSS: truncated or damaged.
// FAILED_PRECONDITION: a checkpoint of another training, or of another version of the format.
absl::StatusOr<Checkpoint> DecodeCheckpoint(absl::string_view bytes, const Digest& fingerprint);

// Reads `path`; NOT_FOUND where there is none, INVALID_ARGUMENT where it is no regular file, otherwise as
// DecodeCheckpoint, with the path in front.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path, const Digest& fingerprint);

// As ReadCheckpoint, without asking which training it belongs to.
absl::Status CheckCheckpointFile(const std::string& path);

// Makes the folder and its parents, and tries to make a file there; an error names the folder. Removes the unfinished
// files of processes that have ended ("x.checkpoint.tmp.<process>").
absl::Status MakeCheckpointFolder(const std::string& folder);
// Removes the checkpoints in `folder`, and then the folder if it is empty. What cannot be removed stays.
void RemoveCheckpoints(const std::string& folder);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_CHECKPOINT_H_
