// Doubles of RandomSource. NOT PRIVATE: none of them may ever make a report that leaves a test.
#ifndef BLINK_TESTS_TESTING_RANDOM_DOUBLES_H_
#define BLINK_TESTS_TESTING_RANDOM_DOUBLES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/privacy/random_source.h"

namespace blink {

// NOT PRIVATE: a fixed sequence, the same for the same seed, however it is cut into calls of multiples of 8 bytes.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(uint64_t seed) : engine_(seed) {}
  absl::Status Fill(absl::Span<uint8_t> bytes) override;

 private:
  std::mt19937_64 engine_;
};

// NOT PRIVATE: gives the bytes of `words`, then zeros.
class TapeRandom final : public RandomSource {
 public:
  explicit TapeRandom(std::vector<uint64_t> words) : words_(std::move(words)) {}
  absl::Status Fill(absl::Span<uint8_t> bytes) override;

 private:
  std::vector<uint64_t> words_;
  size_t next_byte_ = 0;
};

// NOT PRIVATE: answers `good_calls` calls as SeededRandom(1), then fails with UNAVAILABLE for ever.
class FailingRandom final : public RandomSource {
 public:
  explicit FailingRandom(int good_calls = 0) : good_calls_(good_calls) {}
  absl::Status Fill(absl::Span<uint8_t> bytes) override;
  int calls() const { return calls_; }

 private:
  const int good_calls_;
  int calls_ = 0;
  SeededRandom good_{1};
};

// Counts what another source is asked for.
class CountingRandom final : public RandomSource {
 public:
  explicit CountingRandom(RandomSource& source) : source_(source) {}
  absl::Status Fill(absl::Span<uint8_t> bytes) override;
  uint64_t calls() const { return calls_; }
  uint64_t bytes() const { return bytes_; }

 private:
  RandomSource& source_;
  uint64_t calls_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace blink

#endif  // BLINK_TESTS_TESTING_RANDOM_DOUBLES_H_
