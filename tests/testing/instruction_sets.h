// Tests that run once for each instruction set; those that the machine does not have say that they skip.
//
//   class Sums : public testing::EveryInstructionSet {};
//   TEST_P(Sums, AreThoseOfTheTwin) {...}         // everything that it calls uses the set
//   BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(Sums);
#ifndef BLINK_TESTS_TESTING_INSTRUCTION_SETS_H_
#define BLINK_TESTS_TESTING_INSTRUCTION_SETS_H_

#include <gtest/gtest.h>

#include <cctype>
#include <optional>
#include <string>

#include "common/simd/instruction_set.h"

namespace blink::testing {

class EveryInstructionSet : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!MachineHas(GetParam())) GTEST_SKIP() << "this machine does not have " << InstructionSetName(GetParam());
    set_.emplace(GetParam());
  }

 private:
  std::optional<WithInstructionSet> set_;
};

inline std::string NameOfSet(const ::testing::TestParamInfo<InstructionSet>& info) {
  std::string name = InstructionSetName(info.param);  // "Plain", "Neon", "Avx2", "Avx512"
  std::erase(name, '-');
  for (size_t k = 1; k < name.size(); ++k) name[k] = static_cast<char>(std::tolower(name[k]));
  name[0] = static_cast<char>(std::toupper(name[0]));
  return name;
}

#define BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(Suite) \
  INSTANTIATE_TEST_SUITE_P(Sets, Suite, ::testing::ValuesIn(kInstructionSets), ::blink::testing::NameOfSet)

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_INSTRUCTION_SETS_H_
