// What a store in PostgreSQL survives: lost connections, others' locks, a hanging or killed server, a full disk, a
// failover. Nothing that was acknowledged is ever gone.
#include <sys/mount.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <pqxx/pqxx>
#include <set>

#include "aggregator_server/store/postgres_session.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/tcp_proxy.h"
#include "tests/unit/store/postgres_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeRound;
using ::testing::Not;
using testing::PostgresServer;

class PostgresFaults : public PostgresTest {
 protected:
  // Threads that send reports until each is acknowledged.
  class Senders {
   public:
    Senders(PostgresFaults& test, ReportStore& store, NodeIndex first, NodeIndex end) {
      for (int i = 0; i < 4; ++i) {
        threads_.emplace_back([this, &test, &store, first, end, i] {
          for (NodeIndex node = first + i; node < end; node += 4) {
            while (!test.Put(store, node).ok() && !giving_up_)
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ++acknowledged_;
          }
        });
      }
    }
    ~Senders() {
      giving_up_ = true;
      Wait();
    }
    uint32_t acknowledged() const { return acknowledged_; }
    void Wait() {
      for (std::thread& thread : threads_) {
        if (thread.joinable()) thread.join();
      }
    }

   private:
    std::atomic<uint32_t> acknowledged_{0};
    std::atomic<bool> giving_up_{false};
    std::vector<std::thread> threads_;
  };
};

TEST_F(PostgresFaults, ConnectionsThatAreTerminatedCostNothing) {
  StartServer();
  const auto store = OpenStore();
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  Senders senders(*this, *store, 0, kNodes);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'blink-aggregator'");
  }
  senders.Wait();
  EXPECT_EQ(CountReports(*store), kNodes);
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), kNodes);
  EXPECT_TRUE(store->CheckCanStore().ok());
}

TEST_F(PostgresFaults, AReportWhoseCommitWasNotAnsweredIsCountedOnce) {
  StartServer();
  testing::TcpProxy proxy(server_->port());
  const std::string direct = uri_;
  uri_ = absl::StrCat("postgresql://blink:pass%27word%20of%20te%5Csts@", proxy.address(), uri_.substr(uri_.rfind('/')));
  const auto store = OpenStore();
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  ASSERT_TRUE(Put(*store, 1).ok());
  const int before = proxy.connections();
  proxy.CutAtAnswerTo("COMMIT");
  CheckedReport flagged = MakeChecked(parameters_, 2);
  flagged.implausible = true;
  const auto put = store->PutReportAndWait(flagged);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_GT(proxy.connections(), before) << "the connection was not cut";
  EXPECT_TRUE(put->fresh);
  EXPECT_EQ(put->reports, 2);
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), 2);
  EXPECT_EQ(store->GetRound(kRoundId)->flagged(), 1);
  EXPECT_EQ(CountReports(*store), 2);
}

TEST_F(PostgresFaults, AChangeWhoseCommitWasNotAnsweredIsKnownToBeDone) {
  StartServer();
  testing::TcpProxy proxy(server_->port());
  uri_ = absl::StrCat("postgresql://blink:pass%27word%20of%20te%5Csts@", proxy.address(), uri_.substr(uri_.rfind('/')));
  const auto store = OpenStore();
  proxy.CutAtAnswerTo("COMMIT");
  const auto made = store->CreateRound(MakeRound(kNodes), "");
  ASSERT_TRUE(made.ok()) << made.status();
  int before = proxy.connections();
  proxy.CutAtAnswerTo("COMMIT");
  const auto sealed = Seal(*store);
  ASSERT_TRUE(sealed.ok()) << sealed.status();
  EXPECT_GT(proxy.connections(), before) << "the connection was not cut";
  EXPECT_EQ(sealed->state(), v1::ROUND_STATE_SEALED);
  EXPECT_TRUE(absl::IsFailedPrecondition(Seal(*store).status())) << "another call is another change";
}

TEST_F(PostgresFaults, ALongTransactionOfAnotherHoldsNobodyUpForEver) {
  StartServer();
  const auto store = OpenStore({.lock_max = absl::Milliseconds(300)});
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  {
    pqxx::connection other(uri_);
    pqxx::work transaction(other);
    transaction.exec("LOCK TABLE blink.reports IN ACCESS EXCLUSIVE MODE");
    const auto put = Put(*store, 1);
    EXPECT_EQ(put.status().code(), absl::StatusCode::kUnavailable) << put.status();
    EXPECT_THAT(std::string(put.status().message()), HasSubstr("another transaction held it up"));
    transaction.exec("LOCK TABLE blink.rounds IN ACCESS EXCLUSIVE MODE");
    const auto sealed = Seal(*store);
    EXPECT_EQ(sealed.status().code(), absl::StatusCode::kUnavailable) << sealed.status();
  }
  EXPECT_TRUE(Put(*store, 1).ok());
  EXPECT_TRUE(Seal(*store).ok());
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), 1);
}

TEST_F(PostgresFaults, ALongReadOfAnotherHoldsUpNothing) {
  StartServer();
  const auto store = OpenStore();
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  pqxx::connection other(uri_);
  pqxx::transaction<pqxx::repeatable_read> transaction(other);
  transaction.exec("SELECT count(*) FROM blink.reports, blink.rounds, blink.report_counts");
  EXPECT_TRUE(Put(*store, 1).ok());
  EXPECT_TRUE(Seal(*store).ok());
}

TEST_F(PostgresFaults, AServerThatHangsIsGivenUpAndFoundAgain) {
  StartServer();
  const auto store =
      OpenStore({.call_max = absl::Seconds(1), .patience = absl::Seconds(2), .lease = absl::Seconds(60)});
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  ASSERT_TRUE(Put(*store, 1).ok());
  server_->Freeze();
  const absl::Time began = absl::Now();
  const auto put = Put(*store, 2);
  const auto read = store->GetRound(kRoundId);
  const auto can_store = store->CheckCanStore();
  server_->Thaw();
  EXPECT_EQ(put.status().code(), absl::StatusCode::kUnavailable) << put.status();
  EXPECT_EQ(read.status().code(), absl::StatusCode::kUnavailable) << read.status();
  EXPECT_EQ(can_store.code(), absl::StatusCode::kUnavailable) << can_store;
  EXPECT_LT(absl::Now() - began, absl::Seconds(50));
  EXPECT_TRUE(testing::Eventually([&] { return Put(*store, 2).ok(); }));
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), 2);
  EXPECT_TRUE(testing::Eventually([&] { return store->CheckCanStore().ok(); }));
}

TEST_F(PostgresFaults, AServerThatDoesNotAnswerShowsWithinSeconds) {
  StartServer();
  testing::TcpProxy proxy(server_->port());
  const std::string database = uri_.substr(uri_.rfind('/'));
  for (const bool is_swallowed : {false, true}) {
    SCOPED_TRACE(is_swallowed ? "something between them swallows what is sent" : "the server hangs");
    uri_ = absl::StrCat("postgresql://blink:pass%27word%20of%20te%5Csts@", proxy.address(), database);
    const auto store = OpenStore({.lease = absl::Seconds(60)});
    ASSERT_TRUE(store->CheckCanStore().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // its answer is no longer kept
    if (is_swallowed) {
      proxy.ForgetConnections();
    } else {
      server_->Freeze();
    }
    const absl::Time began = absl::Now();
    const absl::Status can_store = store->CheckCanStore();
    const absl::Status rounds = store->LookAtRounds().status();
    const absl::Duration took = absl::Now() - began;
    if (!is_swallowed) server_->Thaw();
    EXPECT_EQ(can_store.code(), absl::StatusCode::kUnavailable) << can_store;
    // Through the proxy a new connection works.
    EXPECT_EQ(rounds.code(), is_swallowed ? absl::StatusCode::kOk : absl::StatusCode::kUnavailable) << rounds;
    EXPECT_LT(took, absl::Seconds(12)) << "an answer of 2 s, and a connection of 5 s, with room";
    EXPECT_TRUE(testing::Eventually([&] { return store->CheckCanStore().ok() && store->LookAtRounds().ok(); }));
  }
}

TEST_F(PostgresFaults, ConnectionsThatAreLostAgainAndAgainAreMadeOnceASecond) {
  PostgresWatchdog watchdog;
  for (int i = 0; i < PostgresWatchdog::kLossesMax; ++i) watchdog.NoteLost();
  EXPECT_EQ(watchdog.WhyNotYet(), "");
  watchdog.NoteLost();
  EXPECT_THAT(watchdog.WhyNotYet(), HasSubstr("again and again"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_EQ(watchdog.WhyNotYet(), "");
}

// What an operator reads first, whatever has happened to the database.
TEST_F(PostgresFaults, TheFirstLineOfTheLogNamesTheDatabaseAndWhatToDo) {
  StartServer();
  testing::TcpProxy proxy(server_->port());
  const std::string database = uri_.substr(uri_.rfind('/'));
  const auto terminate = [&] {
    Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'blink-aggregator'");
    server_->Sql(absl::StrCat("ALTER DATABASE ", database.substr(1), " ALLOW_CONNECTIONS false"));
  };
  const std::vector<std::pair<std::string, std::function<void()>>> ways = {
      {"killed", [&] { server_->Kill(); }},
      {"stopped", [&] { server_->Stop(); }},
      {"frozen", [&] { server_->Freeze(); }},
      {"locked out", terminate},
      {"cut off", [&] { proxy.ForgetConnections(); }}};
  for (const auto& [name, happens] : ways) {
    SCOPED_TRACE(name);
    uri_ = absl::StrCat("postgresql://blink:pass%27word%20of%20te%5Csts@", proxy.address(), database);
    const auto store =
        OpenStore({.call_max = absl::Seconds(1), .patience = absl::Seconds(1), .lease = absl::Seconds(60)});
    ASSERT_TRUE(store->ListRounds().ok());
    const LogCapture log;
    happens();
    Put(*store, 1).status().IgnoreError();
    store->ListRounds().status().IgnoreError();
    store->CheckCanStore().IgnoreError();
    const std::string text = log.text(), first = text.substr(0, text.find('\n'));
    EXPECT_THAT(first, HasSubstr(absl::StrCat("PostgreSQL at ", proxy.address(), ", database ", database.substr(1))));
    EXPECT_THAT(first, HasSubstr("see that the server runs"));
    EXPECT_THAT(text, Not(HasSubstr("pass'word")));
    EXPECT_THAT(text, Not(HasSubstr("encoding")));
    if (name == "killed" || name == "stopped") server_->Start();
    if (name == "frozen") server_->Thaw();
    server_->Sql(absl::StrCat("ALTER DATABASE ", database.substr(1), " ALLOW_CONNECTIONS true"));
    ASSERT_TRUE(testing::Eventually([&] { return store->ListRounds().ok(); }));
  }
}

TEST_F(PostgresFaults, AServerThatIsKilledHasEverythingAcknowledged) {
  StartServer({});
  const auto store = OpenStore();
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  Senders senders(*this, *store, 0, kNodes);
  for (int life = 0; life < 2; ++life) {
    const uint32_t before = senders.acknowledged();
    ASSERT_TRUE(
        testing::Eventually([&] { return senders.acknowledged() > before + 100 || senders.acknowledged() == kNodes; }));
    server_->Kill();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server_->Start();
  }
  senders.Wait();
  EXPECT_EQ(CountReports(*store), kNodes);
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), kNodes);
}

TEST_F(PostgresFaults, NobodyIsAskedForLongerThanAMomentWhileThereIsNoServer) {
  StartServer();
  const LogCapture log;
  const auto store = OpenStore({.patience = absl::Seconds(1)});
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  server_->Kill();
  const absl::Status refused = Put(*store, 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("127.0.0.1"))) << "nodes need not know where it is";
  EXPECT_THAT(log.text(), HasSubstr(absl::StrCat("127.0.0.1:", server_->port())));
  const absl::Time began = absl::Now();
  for (NodeIndex node = 0; node < 20; ++node) {
    EXPECT_EQ(Put(*store, node).status().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_LT(absl::Now() - began, absl::Seconds(10));
  EXPECT_EQ(store->CheckCanStore().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store->ListOpenRounds().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Seal(*store).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(log.text(), Not(HasSubstr("pass'word")));
  EXPECT_GE(store->GetActivity().failed_writes, 2u);
}

// A file system of a few bytes, which goes away with it.
class SmallDisk {
 public:
  explicit SmallDisk(std::string folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    is_there_ = ::mount("blink-test", folder_.c_str(), "tmpfs", 0, "size=1m,mode=777") == 0;
  }
  ~SmallDisk() {
    if (is_there_) ::umount2(folder_.c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove(folder_, ignored);
  }
  bool is_there() const { return is_there_; }
  bool Grow() { return ::mount("blink-test", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=50m") == 0; }

 private:
  const std::string folder_;
  bool is_there_ = false;
};

// The table of the reports lies on a small file system.
TEST_F(PostgresFaults, AFullDiskRefusesReportsUntilThereIsSpace) {
  StartServer();
  const std::string folder = server_->folder() + "/small";
  SmallDisk disk(folder);
  if (!disk.is_there()) GTEST_SKIP() << "no small file system can be mounted here: run as root";
  const auto store = OpenStore();
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  server_->MakeFolderOfServer(folder + "/space");
  ASSERT_EQ(Sql(absl::StrCat("CREATE TABLESPACE small LOCATION '", folder, "/space'")), "");
  ASSERT_EQ(Sql("ALTER TABLE blink.reports SET TABLESPACE small"), "");
  absl::Status refused;
  NodeIndex held = 0;
  CheckedReport large = MakeChecked(parameters_, 0);
  large.report.coded_bits.assign(20'000, 'x');
  for (; held < kNodes && refused.ok(); ++held) {
    large.node = held;
    refused = store->PutReportAndWait(large).status();
  }
  --held;
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("disk of the database is full"));
  EXPECT_EQ(store->CheckCanStore().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(held, 0u);
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), held);
  ASSERT_TRUE(disk.Grow());
  EXPECT_TRUE(store->PutReportAndWait(large).ok());
  EXPECT_TRUE(store->CheckCanStore().ok());
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), held + 1);
  EXPECT_EQ(CountReports(*store), held + 1);
}

TEST_F(PostgresFaults, AStandbyThatIsPromotedHasEverythingAcknowledged) {
  StartServer({});
  const auto standby = PostgresServer::StandbyOf(*server_);
  server_->Sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
  server_->Sql("SELECT pg_reload_conf()");
  ASSERT_TRUE(
      testing::Eventually([&] { return server_->Sql("SELECT sync_state FROM pg_stat_replication") == "sync"; }));
  const std::string database = uri_.substr(uri_.rfind('/'));
  // The standby first: it only reads, and is passed over.
  uri_ = absl::StrCat("postgresql://blink:pass%27word%20of%20te%5Csts@127.0.0.1:", standby->port(),
                      ",127.0.0.1:", server_->port(), database);
  const auto store = OpenStore({.call_max = absl::Seconds(3)});
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  Senders senders(*this, *store, 0, kNodes);
  ASSERT_TRUE(testing::Eventually([&] { return senders.acknowledged() > 200; }));
  server_->Kill();
  const uint32_t before = senders.acknowledged();
  EXPECT_LT(before, kNodes);
  standby->Promote();
  senders.Wait();
  EXPECT_EQ(CountReports(*store), kNodes);
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), kNodes);
  EXPECT_TRUE(Seal(*store).ok());
  EXPECT_EQ(standby->Sql("SELECT count(*) FROM blink.reports", database.substr(1)), absl::StrCat(kNodes));
}

TEST_F(PostgresFaults, AReportIsNotAcknowledgedWhileTheStandbyHasNotGotIt) {
  StartServer();
  const auto standby = PostgresServer::StandbyOf(*server_, {"fsync=off"});
  const auto store = OpenStore({.call_max = absl::Seconds(1), .patience = absl::Seconds(1)});
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodes), "").ok());
  server_->Sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
  server_->Sql("SELECT pg_reload_conf()");
  ASSERT_TRUE(
      testing::Eventually([&] { return server_->Sql("SELECT sync_state FROM pg_stat_replication") == "sync"; }));
  ASSERT_TRUE(Put(*store, 1).ok());
  standby->Freeze();
  const auto put = Put(*store, 2);
  EXPECT_EQ(put.status().code(), absl::StatusCode::kUnavailable) << put.status();
  standby->Thaw();
  EXPECT_TRUE(testing::Eventually([&] { return Put(*store, 2).ok(); }));
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), 2);
}

}  // namespace
}  // namespace blink
