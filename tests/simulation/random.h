// The one source of all decisions of a simulation. The same seed gives the same decisions on every machine.
#ifndef BLINK_TESTS_SIMULATION_RANDOM_H_
#define BLINK_TESTS_SIMULATION_RANDOM_H_

#include <cstdint>
#include <random>

namespace blink::simulation {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t end) { return engine_() % end; }  // 0 .. end - 1
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_RANDOM_H_
