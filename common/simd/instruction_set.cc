#include "common/simd/instruction_set.h"

#include <atomic>

namespace blink {
namespace {

constexpr int kBest = -1;  // no set was chosen
std::atomic<int> chosen{kBest};

InstructionSet BestInstructionSet() {
  static const InstructionSet best = MachineHas(InstructionSet::kAvx512) ? InstructionSet::kAvx512
                                     : MachineHas(InstructionSet::kAvx2) ? InstructionSet::kAvx2
                                                                         : InstructionSet::kPlain;
  return best;
}

}  // namespace

const char* InstructionSetName(InstructionSet set) {
#if defined(__aarch64__)
  constexpr const char* kNames[] = {"NEON", "AVX2", "AVX-512"};
#else
  constexpr const char* kNames[] = {"plain", "AVX2", "AVX-512"};
#endif
  return kNames[static_cast<int>(set)];
}

bool MachineHas(InstructionSet set) {
  if (set == InstructionSet::kPlain) return true;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (set == InstructionSet::kAvx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

InstructionSet UsedInstructionSet() {
  const int set = chosen.load(std::memory_order_relaxed);
  return set == kBest ? BestInstructionSet() : static_cast<InstructionSet>(set);
}

WithInstructionSet::WithInstructionSet(InstructionSet set) : before_(chosen.exchange(static_cast<int>(set))) {}
WithInstructionSet::~WithInstructionSet() { chosen.store(before_); }

}  // namespace blink
