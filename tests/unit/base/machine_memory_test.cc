#include "common/base/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// A folder in the place of /, with 16 GiB of which 12 are available.
class MachineMemoryTest : public ::testing::Test {
 protected:
  MachineMemoryTest()
      : root_(absl::StrCat(::testing::TempDir(), "/machine_", ::getpid(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(root_);
    Write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   12582912 kB\n");
  }
  ~MachineMemoryTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + file).parent_path());
    std::ofstream(root_ + "/" + file) << text;
  }
  void ExpectFound(uint64_t total, uint64_t available, const std::string& of) const {
    const MachineMemory found = FindMachineMemory(root_);
    EXPECT_EQ(found.total, total);
    EXPECT_EQ(found.available, available);
    EXPECT_EQ(found.available_of, of);
  }

  const std::string root_;
};

TEST_F(MachineMemoryTest, IsTheMachinesWhereNothingElseLimits) {
  ExpectFound(16 * kGiB, 12 * kGiB, "this machine");
  Write("proc/self/cgroup", "0::/user.slice\n");
  Write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  ExpectFound(16 * kGiB, 12 * kGiB, "this machine");
}

TEST_F(MachineMemoryTest, IsThatOfTheControlGroupAndOfAllThatItIsIn) {
  Write("proc/self/cgroup", "0::/outer/inner\n");
  Write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  Write("sys/fs/cgroup/outer/memory.max", absl::StrCat(4 * kGiB, "\n"));
  Write("sys/fs/cgroup/outer/memory.current", absl::StrCat(3 * kGiB, "\n"));
  Write("sys/fs/cgroup/outer/memory.stat", absl::StrCat("anon 5\ninactive_file ", kGiB, "\n"));
  ExpectFound(4 * kGiB, 2 * kGiB, "the control group");
}

TEST_F(MachineMemoryTest, TakesTheRootGroupForThatOfAContainer) {
  Write("proc/self/cgroup", "0::/docker/0123\n");  // its name outside
  Write("sys/fs/cgroup/memory.max", absl::StrCat(2 * kGiB));
  Write("sys/fs/cgroup/memory.current", "0");
  ExpectFound(2 * kGiB, 2 * kGiB, "the control group");
}

TEST_F(MachineMemoryTest, KnowsTheFirstVersionOfControlGroups) {
  Write("proc/self/cgroup", "11:cpu,cpuacct:/a\n7:memory:/job\n");
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", absl::StrCat(2 * kGiB));
  Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", absl::StrCat(3 * kGiB));
  ExpectFound(2 * kGiB, 0, "the control group");
}

TEST_F(MachineMemoryTest, LimitsNothingByWhatItCannotRead) {
  Write("proc/meminfo", "nonsense\nMemTotal: many kB\n");
  Write("proc/self/cgroup", "nonsense\n0::\n::\n");
  Write("sys/fs/cgroup/memory.max", "-1\n");
  EXPECT_EQ(FindMachineMemory(root_).total, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(FindMachineMemory(root_ + "/nowhere").available, std::numeric_limits<uint64_t>::max());
}

TEST_F(MachineMemoryTest, KnowsItsLimitOnAddressSpace) {
  Write("proc/self/statm", "1024 5 5\n");  // pages
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "address space is limited already";
  const rlimit limit{8 * kGiB, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  const MachineMemory found = FindMachineMemory(root_);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(found.total, 8 * kGiB);
  EXPECT_EQ(found.available, 8 * kGiB - 1024 * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(found.total_of, "ulimit -v");
}

TEST(FormatBytes, ChoosesItsUnit) {
  EXPECT_EQ(FormatBytes(0), "0 bytes");
  EXPECT_EQ(FormatBytes(1234), "1.2 kB");
  EXPECT_EQ(FormatBytes(999'960), "1.0 MB");
  EXPECT_EQ(FormatBytes(123'456'789), "123 MB");
  EXPECT_EQ(FormatBytes(11.94e9), "11.9 GB");
  EXPECT_EQ(FormatBytes(2.5e16), "25000 TB");
}

}  // namespace
}  // namespace blink
