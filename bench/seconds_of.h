// Times for the ratios that benchmarks print.
#ifndef BLINK_BENCH_SECONDS_OF_H_
#define BLINK_BENCH_SECONDS_OF_H_

#include <ctime>

namespace blink {

// Processor time of this process for one call of `f`, in seconds: a busy machine does not distort the ratios.
template <typename F>
double SecondsOf(F f, int times) {
  const std::clock_t begin = std::clock();
  for (int i = 0; i < times; ++i) f();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / times;
}

}  // namespace blink

#endif  // BLINK_BENCH_SECONDS_OF_H_
