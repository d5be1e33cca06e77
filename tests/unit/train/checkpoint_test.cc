// The coding of checkpoints; trainer_test.cc has what a training does with them.
#include "aggregator_server/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"

namespace blink {
namespace {

Checkpoint SmallCheckpoint() {
  Checkpoint checkpoint{.epoch = 2, .best_epoch = 1, .best_validation_loss = 0.5, .elapsed_ms = 12.25};
  checkpoint.train_losses = {1.5f, 1.25f};
  checkpoint.validation_losses = {0.5f, 0.75f};
  checkpoint.validation_accuracies = {0.25f, 0.5f};
  checkpoint.generator = std::string("state\0of 1", 10);
  checkpoint.steps = {2, 2};
  checkpoint.parameters = {{1, 2, 3}, {}};
  checkpoint.first_moments = {{4, 5, 6}, {}};
  checkpoint.second_moments = {{7, 8, 9}, {}};
  checkpoint.best_parameters = {{0.5f, 1, 2}, {}};
  checkpoint.best_logits = {0.125f, -1};
  return checkpoint;
}

Digest Fingerprint(const std::string& of) { return Sha256Of(of); }

TEST(CheckpointCode, ComesBackAsItWas) {
  const Checkpoint checkpoint = SmallCheckpoint();
  const std::string bytes = EncodeCheckpoint(checkpoint, Fingerprint("this"));
  const auto decoded = DecodeCheckpoint(bytes, Fingerprint("this"));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->epoch, 2);
  EXPECT_EQ(decoded->best_epoch, 1);
  EXPECT_EQ(decoded->best_validation_loss, 0.5);
  EXPECT_EQ(decoded->elapsed_ms, 12.25);
  EXPECT_EQ(decoded->train_losses, checkpoint.train_losses);
  EXPECT_EQ(decoded->validation_losses, checkpoint.validation_losses);
  EXPECT_EQ(decoded->validation_accuracies, checkpoint.validation_accuracies);
  EXPECT_EQ(decoded->generator, checkpoint.generator);
  EXPECT_EQ(decoded->steps, checkpoint.steps);
  EXPECT_EQ(decoded->parameters, checkpoint.parameters);
  EXPECT_EQ(decoded->first_moments, checkpoint.first_moments);
  EXPECT_EQ(decoded->second_moments, checkpoint.second_moments);
  EXPECT_EQ(decoded->best_parameters, checkpoint.best_parameters);
  EXPECT_EQ(decoded->best_logits, checkpoint.best_logits);
  EXPECT_EQ(EncodeCheckpoint(*decoded, Fingerprint("this")), bytes);
}

TEST(CheckpointCode, RefusesEveryTruncation) {
  const std::string bytes = EncodeCheckpoint(SmallCheckpoint(), Fingerprint("this"));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(DecodeCheckpoint(bytes.substr(0, length), Fingerprint("this")).status().code(),
              absl::StatusCode::kDataLoss)
        << length;
  }
}

TEST(CheckpointCode, RefusesEveryFlippedBit) {
  const std::string bytes = EncodeCheckpoint(SmallCheckpoint(), Fingerprint("this"));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(DecodeCheckpoint(damaged, Fingerprint("this")).ok()) << bit;
  }
}

// Lengths that lie, under a checksum that is right: what somebody writes who knows the format.
TEST(CheckpointCode, RefusesLengthsBeyondTheEndWhereverTheyStand) {
  const std::string bytes = EncodeCheckpoint(SmallCheckpoint(), Fingerprint("this"));
  const std::string content = bytes.substr(0, bytes.size() - sizeof(Digest));
  for (size_t place = content.size() - 8; place > 60; --place) {
    for (const uint64_t length : {~uint64_t{0}, uint64_t{1} << 62, uint64_t{content.size()}}) {
      std::string lying = content;
      lying.replace(place, 8, reinterpret_cast<const char*>(&length), 8);
      lying += DigestToBytes(Sha256Of(lying));
      const auto decoded = DecodeCheckpoint(lying, Fingerprint("this"));  // numbers may well be others
      if (!decoded.ok()) {
        EXPECT_EQ(decoded.status().code(), absl::StatusCode::kDataLoss) << place;
      }
    }
  }
}

TEST(CheckpointCode, RefusesThatOfAnotherTraining) {
  const std::string bytes = EncodeCheckpoint(SmallCheckpoint(), Fingerprint("this"));
  EXPECT_EQ(DecodeCheckpoint(bytes, Fingerprint("other")).status().code(), absl::StatusCode::kFailedPrecondition);
}

// A process that is no more.
int EndedProcess() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(MakeCheckpointFolder, RemovesWhatAKilledProcessLeftUnfinishedAndNothingElse) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/unfinished_", ::getpid());
  ASSERT_TRUE(MakeCheckpointFolder(folder).ok());
  const std::string whole = EncodeCheckpoint(SmallCheckpoint(), Fingerprint("this")),
                    part = whole.substr(0, whole.size() / 2);
  const std::string unfinished = folder + "/candidate-1.checkpoint.tmp.";
  const std::string killed = absl::StrCat(unfinished, EndedProcess()), own = absl::StrCat(unfinished, ::getpid()),
                    of_another = absl::StrCat(unfinished, ::getppid()), good = folder + "/candidate-1.checkpoint",
                    foreign = folder + "/notes.checkpoint.tmp.1x";
  for (const std::string& file : {killed, own, of_another}) ASSERT_TRUE(WriteFileAtomically(file, part).ok());
  ASSERT_TRUE(WriteFileAtomically(good, whole).ok());
  ASSERT_TRUE(WriteFileAtomically(foreign, "somebody's notes").ok());
  ASSERT_TRUE(MakeCheckpointFolder(folder).ok());
  EXPECT_FALSE(std::filesystem::exists(killed));
  EXPECT_FALSE(std::filesystem::exists(own)) << "of an earlier process that had this number: this one has only begun";
  EXPECT_TRUE(std::filesystem::exists(of_another)) << "its process may be writing it";
  EXPECT_TRUE(std::filesystem::exists(good));
  EXPECT_TRUE(std::filesystem::exists(foreign)) << "no checkpoint";
  std::filesystem::remove_all(folder);
}

TEST(ReadCheckpoint, SaysThatThereIsNone) {
  EXPECT_EQ(ReadCheckpoint(::testing::TempDir() + "/no such checkpoint", Fingerprint("this")).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace blink
