#include "aggregator_server/telemetry/process_stats.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

namespace blink {
namespace {

TEST(ProcessStats, KnowsThisProcess) {
  const auto stats = ReadProcessStats(::getpid());
  ASSERT_TRUE(stats.has_value());
  EXPECT_GT(stats->resident_bytes, 1u << 20);
  EXPECT_LT(stats->resident_bytes, uint64_t{1} << 40);
  EXPECT_GE(stats->cpu_seconds, 0);
  const double now = static_cast<double>(std::time(nullptr));
  EXPECT_LT(stats->start_unix_seconds, now + 5);
  EXPECT_GT(stats->start_unix_seconds, now - 3600);
}

TEST(ProcessStats, CountsProcessorTime) {
  const double before = ReadProcessStats(::getpid())->cpu_seconds;
  const auto began = std::chrono::steady_clock::now();
  volatile uint64_t work = 0;
  while (ReadProcessStats(::getpid())->cpu_seconds < before + 0.05 &&
         std::chrono::steady_clock::now() - began < std::chrono::seconds(60)) {
    for (int i = 0; i < 1'000'000; ++i) work = work + i;
  }
  EXPECT_GE(ReadProcessStats(::getpid())->cpu_seconds, before + 0.05);
}

TEST(ProcessStats, HasNothingOfAProcessThatIsGone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(ReadProcessStats(child).has_value());
}

TEST(ProcessStats, CountsDescriptorsWithoutItsOwn) {
  const uint64_t before = ReadOwnDescriptors().open;
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(ReadOwnDescriptors().open, before + 1);
  ::close(fd);
  EXPECT_EQ(ReadOwnDescriptors().open, before);
  EXPECT_GE(ReadOwnDescriptors().limit, before);
}

TEST(ProcessStats, KnowsTheDiskOfAFolderAndNothingOfOneThatIsMissing) {
  const auto disk = ReadDiskStats("/");
  ASSERT_TRUE(disk.has_value());
  EXPECT_GT(disk->size_bytes, 0u);
  EXPECT_LE(disk->free_bytes, disk->size_bytes);
  EXPECT_FALSE(ReadDiskStats("/no/such/folder").has_value());
}

}  // namespace
}  // namespace blink
