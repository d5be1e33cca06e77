// Asks the store how it is, on a thread of its own, so that nobody who watches an aggregator waits for a store that
// hangs.
//
//   StoreProbe probe(store, data_folder);
//   const StoreProbe::Seen seen = probe.Look();   // at once, or within kWaitMax; any thread
//   seen.can_store                                // UNAVAILABLE also while a question is not answered for kHangsAfter
//   seen.rounds, seen.age                         // what the last answer said of the rounds, and how old that is
#ifndef BLINK_AGGREGATOR_SERVER_TELEMETRY_STORE_PROBE_H_
#define BLINK_AGGREGATOR_SERVER_TELEMETRY_STORE_PROBE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/telemetry/process_stats.h"

namespace blink {

class StoreProbe {
 public:
  static constexpr std::chrono::milliseconds kEvery{1000}, kWaitMax{100}, kHangsAfter{2000};

  struct Seen {
    absl::Status can_store;  // what ReportStore::CheckCanStore says, or why the rounds cannot be read
    RoundsSeen rounds;       // none until the store has answered once
    std::optional<DiskStats> disk;
    absl::Duration age;  // of `rounds`: the time since the store last told them, or since this exists
  };

  // `store` outlives it. `data_folder` is the one whose disk is looked at.
  StoreProbe(ReportStore& store, std::string data_folder);
  ~StoreProbe();  // waits for the answer to the question that is open
  StoreProbe(const StoreProbe&) = delete;
  StoreProbe& operator=(const StoreProbe&) = delete;

  // Asks anew, and says what was seen: now if the answer comes within kWaitMax, otherwise before. While an earlier
  // question has waited for longer than that, it does not wait.
  Seen Look();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  void Run();
  Seen Ask();

  ReportStore& store_;
  const std::string data_folder_;

  std::mutex mutex_;
  std::condition_variable wake_, answered_;
  bool stopping_ = false, is_asked_ = false;
  uint64_t asked_ = 0, answers_ = 0;      // questions to the store, and how many of them have an answer
  SteadyTime asked_at_, rounds_told_at_;  // of the last question; of the last answer that told the rounds
  Seen seen_;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TELEMETRY_STORE_PROBE_H_
