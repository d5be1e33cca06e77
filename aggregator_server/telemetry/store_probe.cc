#include "aggregator_server/telemetry/store_probe.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace blink {

StoreProbe::StoreProbe(ReportStore& store, std::string data_folder)
    : store_(store),
      data_folder_(std::move(data_folder)),
      asked_at_(std::chrono::steady_clock::now()),
      rounds_told_at_(asked_at_),
      thread_([this] { Run(); }) {}

StoreProbe::~StoreProbe() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

StoreProbe::Seen StoreProbe::Look() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t mine = asked_ + 1;  // the question that is open was asked before this call
  const auto waits = [this] {
    return answers_ == asked_ ? std::chrono::steady_clock::duration(0) : std::chrono::steady_clock::now() - asked_at_;
  };
  if (waits() < kWaitMax) {
    is_asked_ = true;
    wake_.notify_all();
    answered_.wait_for(lock, kWaitMax, [&] { return answers_ >= mine || stopping_; });
  }
  Seen seen = seen_;
  seen.age = absl::FromChrono(std::chrono::steady_clock::now() - rounds_told_at_);
  if (const auto open_for = waits(); open_for > kHangsAfter) {
    seen.can_store = absl::UnavailableError(
        absl::StrCat("the store has not answered for ",
                     std::chrono::duration_cast<std::chrono::seconds>(open_for).count(), " s: does it hang?"));
  }
  return seen;
}

StoreProbe::Seen StoreProbe::Ask() {
  Seen seen;
  seen.can_store = store_.CheckCanStore();
  seen.disk = ReadDiskStats(data_folder_);
  return seen;
}

void StoreProbe::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    is_asked_ = false;
    ++asked_;
    asked_at_ = std::chrono::steady_clock::now();
    lock.unlock();
    Seen seen = Ask();
    absl::StatusOr<RoundsSeen> rounds = store_.LookAtRounds();
    lock.lock();
    // What the store said of itself may be a second old.
    if (!rounds.ok() && seen.can_store.ok()) seen.can_store = rounds.status();
    if (rounds.ok()) {
      seen.rounds = *std::move(rounds);
      rounds_told_at_ = std::chrono::steady_clock::now();
    } else {
      seen.rounds = std::move(seen_.rounds);
    }
    seen_ = std::move(seen);
    answers_ = asked_;
    answered_.notify_all();
    wake_.wait_for(lock, kEvery, [this] { return stopping_ || is_asked_; });
  }
}

}  // namespace blink
