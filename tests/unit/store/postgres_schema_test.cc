// The tables in PostgreSQL and their versions, and the URI.
#include <pqxx/pqxx>

#include "aggregator_server/store/postgres_migrations.h"
#include "common/base/digest.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/store/postgres_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::kRoundId;
using testing::MakeRound;
using ::testing::Not;
using testing::PostgresServer;

TEST(PostgresMigrations, AreNeverEdited) {
  // A released migration has run on somebody's database. Add another one instead.
  std::vector<std::string> digests;
  for (const std::string& migration : PostgresMigrations()) digests.push_back(DigestToHex(Sha256Of(migration)));
  EXPECT_EQ(digests, (std::vector<std::string>{
                         "013111a93e60214531fc6d72abf6a908dcfc9cd492f7ab0c4d9c476a3813023c",
                         "1e08aebe1cd9832a5c17e78a595859c1d141700c6d7c7d7c47b75480e5079354",
                         "c045c589594b7ee80baf723760ca4405f3d211f4ee18369f22d5afed4819fb9d",
                     }));
}

class PostgresSchema : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    StartServer();
  }
  std::string Fingerprint() {
    return Sql(
        "SELECT md5(string_agg(c.relname || c.relpages || c.relnatts, ',' ORDER BY c.oid)) || (SELECT "
        "string_agg(version || digest || applied, ',' ORDER BY version) FROM blink.blink_schema) FROM pg_class c");
  }
  // The tables of an earlier version.
  void MigrateTo(size_t version) {
    PostgresWatchdog watchdog;
    const PostgresOptions options;
    const PostgresTarget target = TargetOf(uri_);
    PostgresSession session(target, options, watchdog);
    const std::vector<std::string>& all = PostgresMigrations();
    const PostgresOutcome migrated = Migrate(session, {all.begin(), all.begin() + version});
    ASSERT_TRUE(migrated.status.ok()) << migrated.status;
  }
};

TEST_F(PostgresSchema, OfAnEarlierVersionIsMigratedWithWhatIsInIt) {
  MigrateTo(1);
  std::string hex;
  for (const unsigned char byte : MakeRound(kNodes).SerializeAsString())
    absl::StrAppend(&hex, absl::Hex(byte, absl::kZeroPad2));
  Sql(absl::StrCat("INSERT INTO blink.rounds (round_id, state, created_ms, nodes, body, change) VALUES ('", kRoundId,
                   "', 1, 5, ", kNodes, ", '\\x", hex, "', '')"));
  Sql("INSERT INTO blink.report_counts VALUES (1, 'x', 7, 2)");
  const auto store = OpenStore();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->GetRound(kRoundId)->reports(), 7);
  EXPECT_EQ(store->GetRound(kRoundId)->flagged(), 2);
  EXPECT_EQ(Sql("SELECT max(version) FROM blink.blink_schema"), absl::StrCat(PostgresMigrations().size()));
  EXPECT_TRUE(Put(*store, 3).ok());
}

TEST_F(PostgresSchema, OfANewerVersionIsRefusedAndLeftAsItIs) {
  OpenStore();
  Sql("INSERT INTO blink.blink_schema (version, digest) VALUES (99, 'of tomorrow')");
  const std::string before = Fingerprint();
  ASSERT_THAT(before, HasSubstr("of tomorrow"));
  const auto refused = OpenPostgresStore(TargetOf(uri_));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("version 99 of blink's tables"));
  EXPECT_EQ(Fingerprint(), before);
}

TEST_F(PostgresSchema, WithAnotherHistoryIsRefused) {
  OpenStore();
  Sql("UPDATE blink.blink_schema SET digest = 'edited' WHERE version = 1");
  const auto refused = OpenPostgresStore(TargetOf(uri_));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("migration 1"));
}

TEST_F(PostgresSchema, IsMadeOnceByManyThatComeAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] { EXPECT_NE(OpenStore(), nullptr); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Sql("SELECT count(*) FROM blink.blink_schema"), absl::StrCat(PostgresMigrations().size()));
}

TEST_F(PostgresSchema, ThatTheUserMayNotMakeIsRefusedWithTheRemedy) {
  Sql("CREATE USER poor PASSWORD 'abc'");
  const std::string uri =
      absl::StrCat("postgresql://poor:abc@127.0.0.1:", server_->port(), uri_.substr(uri_.rfind('/')));
  const auto refused = OpenPostgresStore(TargetOf(uri));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("the user lacks rights"));
}

TEST_F(PostgresSchema, IsNeverReachedWithAWrongPasswordNorIsAPasswordTold) {
  const LogCapture log;
  const std::string uri = absl::StrCat("postgresql://blink:sesame%20open@127.0.0.1:", server_->port(), "/postgres");
  const auto refused = OpenPostgresStore(TargetOf(uri));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("authentication failed"));
  EXPECT_THAT(std::string(refused.status().message()), Not(HasSubstr("sesame")));
  EXPECT_THAT(log.text(), Not(HasSubstr("sesame")));
}

TEST(PostgresTarget, IsShownWithoutThePassword) {
  const PostgresTarget target = TargetOf("postgresql://ada:it%27s%20me@a.example:5433,b.example:5434/blink");
  EXPECT_EQ(target.shown(), "PostgreSQL at a.example:5433, b.example:5434, database blink");
  EXPECT_EQ(target.Redact("FATAL: it's me, it's me"), "FATAL: (password), (password)");
  EXPECT_THAT(target.connection_text(), HasSubstr("password='it\\'s me'"));
  EXPECT_THAT(target.connection_text(), HasSubstr("target_session_attrs='read-write'"));
}

TEST(PostgresTarget, KeepsWhatTheUriSays) {
  const PostgresTarget target = TargetOf("postgres://h/d?target_session_attrs=any&connect_timeout=2");
  EXPECT_THAT(target.connection_text(), HasSubstr("target_session_attrs='any'"));
  EXPECT_THAT(target.connection_text(), HasSubstr("connect_timeout='2'"));
}

TEST(PostgresTarget, RefusesWhatIsNoUriWithoutRepeatingIt) {
  for (const char* const text : {"", "rocksdb", "host=a password=sesame", "mysql://a:sesame@b/c",
                                 "postgresql://a:sesame@b:c:d/%zz", "postgresql://b/c?sesame=1"}) {
    const auto refused = PostgresTarget::Parse(text);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(refused.status().message()), Not(HasSubstr("sesame")));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("postgresql://USER@HOST"));
  }
}

}  // namespace
}  // namespace blink
