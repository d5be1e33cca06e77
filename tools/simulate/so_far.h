// A simulation that another thread may look at while it goes on.
#ifndef BLINK_TOOLS_SIMULATE_SO_FAR_H_
#define BLINK_TOOLS_SIMULATE_SO_FAR_H_

#include <functional>
#include <mutex>
#include <utility>

#include "tools/simulate/run.h"

namespace blink {

class SimulationSoFar {
 public:
  // All that is known before the first trial.
  void Begin(Simulation described) {
    const std::lock_guard<std::mutex> lock(mutex_);
    simulation_ = std::move(described);
    has_begun_ = true;
  }
  void Add(Trial trial) {
    const std::lock_guard<std::mutex> lock(mutex_);
    simulation_.trials.push_back(std::move(trial));
  }
  void AddTrueLinks(Trial trial) {
    const std::lock_guard<std::mutex> lock(mutex_);
    simulation_.true_links = std::move(trial);
  }
  // Nothing changes while `look` runs. Does not call it before Begin.
  void Look(const std::function<void(const Simulation&)>& look) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (has_begun_) look(simulation_);
  }
  Simulation Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_begun_ = false;
    return std::move(simulation_);
  }

 private:
  std::mutex mutex_;
  bool has_begun_ = false;
  Simulation simulation_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_SO_FAR_H_
