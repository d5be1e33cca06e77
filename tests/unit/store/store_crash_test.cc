// A process that stores reports is killed with SIGKILL; what it had acknowledged must be there. The writer is this
// program itself, started anew with --write-until-killed FOLDER: it writes a node's number to standard output once it
// has the receipt.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>

#include "aggregator_server/store/rocksdb_store.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

constexpr uint32_t kNodes = 100'000;

// Four threads, so that reports share batches.
[[noreturn]] void WriteUntilKilled(const std::string& folder) {
  auto store = OpenRocksDbStore(folder);
  if (!store.ok()) ::_exit(3);
  (void)(*store)->CreateRound(testing::MakeRound(kNodes), "the-round");
  const PrivacyParameters parameters = testing::MakeParameters(kNodes);
  const uint32_t held = (*store)->GetRound(testing::kRoundId)->reports();
  std::vector<std::thread> threads;
  for (uint32_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      for (uint32_t node = held + first; node < kNodes; node += 4) {
        if (!(*store)->PutReportAndWait(testing::MakeChecked(parameters, node)).ok()) ::_exit(4);
        if (::write(1, &node, sizeof(node)) != sizeof(node)) ::_exit(5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

TEST(StoreCrash, EverythingAcknowledgedSurvivesSigkill) {
  testing::TempFolder folder;
  const std::string store_folder = folder / "store";
  std::set<uint64_t> acknowledged;
  for (int life = 0; life < 3; ++life) {
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      ::dup2(fds[1], 1);
      ::close(fds[0]);
      ::execl("/proc/self/exe", "store_crash_test", "--write-until-killed", store_folder.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(fds[1]);
    uint32_t node;
    for (int i = 0; i < 40 + 17 * life; ++i) {
      ASSERT_EQ(::read(fds[0], &node, sizeof(node)), static_cast<ssize_t>(sizeof(node)));
      acknowledged.insert(node);
    }
    ::kill(writer, SIGKILL);
    while (::read(fds[0], &node, sizeof(node)) == sizeof(node)) acknowledged.insert(node);  // said before the end
    ::close(fds[0]);
    int status;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;

    const auto store = OpenRocksDbStore(store_folder);
    ASSERT_TRUE(store.ok()) << store.status();
    uint32_t found = 0;
    for (const uint64_t held : acknowledged) {
      const auto digest = (*store)->GetDigest(testing::kRoundId, held);
      ASSERT_TRUE(digest.ok() && digest->has_value()) << "node " << held << " was acknowledged and is gone";
      ++found;
    }
    EXPECT_GE((*store)->GetRound(testing::kRoundId)->reports(), found);
  }
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write-until-killed") == 0) blink::WriteUntilKilled(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
