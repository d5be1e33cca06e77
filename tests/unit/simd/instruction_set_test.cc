#include "common/simd/instruction_set.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>

namespace blink {
namespace {

struct WhichSet {
  static int Run(int offset) { return offset; }
};
struct Other {
  static int Run(int offset) { return offset + 10; }
};
struct Third {
  static int Run(int offset) { return offset + 20; }
};

TEST(InstructionSet, TheBestThatTheMachineHasIsUsed) {
  EXPECT_TRUE(MachineHas(InstructionSet::kPlain));
  for (const InstructionSet set : kInstructionSets) {
    EXPECT_EQ(MachineHas(set), set <= UsedInstructionSet()) << InstructionSetName(set);
  }
}

TEST(InstructionSet, IsChosenForALifetimeAndThenAsBefore) {
  const InstructionSet best = UsedInstructionSet();
  for (const InstructionSet set : kInstructionSets) {
    const WithInstructionSet with(set);
    EXPECT_EQ(UsedInstructionSet(), set);
    {
      const WithInstructionSet inner(InstructionSet::kPlain);
      EXPECT_EQ(UsedInstructionSet(), InstructionSet::kPlain);
    }
    EXPECT_EQ(UsedInstructionSet(), set);
  }
  EXPECT_EQ(UsedInstructionSet(), best);
}

TEST(InstructionSet, EverySetHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const InstructionSet set : kInstructionSets) names.insert(InstructionSetName(set));
  EXPECT_EQ(names.size(), std::size(kInstructionSets));
#if defined(__aarch64__)
  EXPECT_EQ(names, std::set<std::string>{"NEON"});
#endif
}

#if defined(__x86_64__)
TEST(InstructionSet, ABodyIsCompiledForEverySet) {
  auto* const plain = CodeOf<WhichSet>(InstructionSet::kPlain);
  auto* const avx2 = CodeOf<WhichSet>(InstructionSet::kAvx2);
  EXPECT_NE(plain, avx2);
  EXPECT_EQ(avx2, CodeOf<WhichSet>(InstructionSet::kAvx512)) << "nothing of its own for AVX-512";
  auto* const avx512 = CodeOf<WhichSet, WhichSet, WhichSet>(InstructionSet::kAvx512);
  EXPECT_NE(avx2, avx512);
  EXPECT_EQ(plain(7), 7);
}
#else
TEST(InstructionSet, ABodyIsCompiledOnceWhereThereIsOneSet) {
  auto* const code = CodeOf<WhichSet, Other, Third>();
  EXPECT_EQ(code, CodeOf<WhichSet>(InstructionSet::kPlain));
  EXPECT_EQ(code(7), 7);
}
#endif

TEST(InstructionSet, BodiesMayDiffer) {
  for (const InstructionSet set : kInstructionSets) {
    if (!MachineHas(set)) continue;
    auto* const code = CodeOf<WhichSet, Other, Third>(set);
    EXPECT_EQ(code(1), 1 + 10 * static_cast<int>(set)) << InstructionSetName(set);
  }
}

}  // namespace
}  // namespace blink
