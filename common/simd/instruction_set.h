// Compiles an inner loop for several sets of vector instructions, and chooses one on the machine where it runs.
//
// Nothing is compiled with -march=native. Instead an inner loop is written as an always-inlined body. The body is
// compiled once for every processor of the architecture (plain), and on x86-64 once for each larger set. Every 64-bit
// ARM processor has NEON, so there it is the one set. CodeOf returns the function for the set in use:
//
//   struct Double {
//     BLINK_INLINE static void Run(float* x, size_t count) { for (size_t k = 0; k < count; ++k) x[k] += x[k]; }
//   };
//   CodeOf<Double>()(x, count);
//
// Results may differ in their last digits between the sets: all but plain x86-64 fuse multiplication and addition, and
// so round once instead of twice. Results are equal bit for bit only between machines that use the same set.
#ifndef BLINK_COMMON_SIMD_INSTRUCTION_SET_H_
#define BLINK_COMMON_SIMD_INSTRUCTION_SET_H_

#include <type_traits>

#define BLINK_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define BLINK_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define BLINK_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma")))
#endif

namespace blink {

enum class InstructionSet { kPlain, kAvx2, kAvx512 };  // ascending
// Those of this architecture.
inline constexpr InstructionSet kInstructionSets[] = {
    InstructionSet::kPlain,
#if defined(__x86_64__)
    InstructionSet::kAvx2,
    InstructionSet::kAvx512,
#endif
};

const char* InstructionSetName(InstructionSet set);  // "plain" ("NEON" on 64-bit ARM), "AVX2", "AVX-512"
// Whether this machine (processor and operating system) runs code for the set.
bool MachineHas(InstructionSet set);
// The set that CodeOf chooses code for: the best one of this machine, unless a WithInstructionSet names another.
InstructionSet UsedInstructionSet();

// For tests. While it lives, all threads use this set, which the machine must have.
class WithInstructionSet {
 public:
  explicit WithInstructionSet(InstructionSet set);
  ~WithInstructionSet();
  WithInstructionSet(const WithInstructionSet&) = delete;
  WithInstructionSet& operator=(const WithInstructionSet&) = delete;

 private:
  const int before_;
};

namespace instruction_set_internal {

template <typename Body, typename Signature>
struct Compiled;
template <typename Body, typename Result, typename... Args>
struct Compiled<Body, Result(Args...)> {
  static Result Plain(Args... args) { return Body::Run(args...); }
#if defined(__x86_64__)
  BLINK_TARGET_AVX2 static Result Avx2(Args... args) { return Body::Run(args...); }
  BLINK_TARGET_AVX512 static Result Avx512(Args... args) { return Body::Run(args...); }
#endif
};
template <typename Body>
using CompiledBody = Compiled<Body, decltype(Body::Run)>;

}  // namespace instruction_set_internal

// Returns the function Run of a body, compiled for the set. Each set may have its own body, for vectors of another
// length; their functions must have the same type. Without a body for AVX-512, the code for AVX2 is used there.
template <typename Plain, typename Avx2 = Plain, typename Avx512 = void>
auto* CodeOf(InstructionSet set = UsedInstructionSet()) {
  using instruction_set_internal::CompiledBody;
#if defined(__x86_64__)
  if constexpr (!std::is_void_v<Avx512>) {
    if (set == InstructionSet::kAvx512) return &CompiledBody<Avx512>::Avx512;
  }
  if (set != InstructionSet::kPlain) return &CompiledBody<Avx2>::Avx2;
#endif
  return &CompiledBody<Plain>::Plain;
}

}  // namespace blink

#endif  // BLINK_COMMON_SIMD_INSTRUCTION_SET_H_
