// A look at a store in PostgreSQL asks for the keys that a start asks for.
#include <memory>
#include <string>

#include "aggregator_server/store/encrypted_store.h"
#include "aggregator_server/store/store_look.h"
#include "tests/unit/store/postgres_fixture.h"

namespace blink {
namespace {

using testing::kRoundId;
using testing::MakeRound;

class PostgresLookTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (!IsSkipped()) StartServer();
  }
  // A store with one encrypted round, to which `change` is done.
  template <typename Change>
  void MakeRoundAnd(const Change& change) {
    const auto store = OpenEncryptedStore(OpenStore(), keys_);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->CreateRound(MakeRound(kNodes), "").ok());
    change(**store);
  }
  absl::Status Cancel(ReportStore& store) {
    return store
        .UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN},
                     [](v1::Round& round) {
                       round.set_state(v1::ROUND_STATE_CANCELLED);
                       return absl::OkStatus();
                     })
        .status();
  }
  PostgresLook Look() {
    absl::StatusOr<PostgresLook> look = LookAtPostgresStore(TargetOf(uri_));
    EXPECT_TRUE(look.ok()) << look.status();
    return look.ok() ? *std::move(look) : PostgresLook();
  }

  const DataKeys keys_ = {.current = SecretKey::FromBytes(std::string(32, 'k')).value()};
};

TEST_F(PostgresLookTest, AsksForTheKeyOfARoundThatMayGetReports) {
  MakeRoundAnd([](ReportStore&) {});
  const PostgresLook look = Look();
  ASSERT_EQ(look.wrapped_keys.size(), 1u);
  EXPECT_TRUE(CheckDataKeys(keys_, look.wrapped_keys).ok());
  EXPECT_EQ(CheckDataKeys({}, look.wrapped_keys), OpenEncryptedStore(OpenStore(), {}).status());
}

TEST_F(PostgresLookTest, AsksForTheKeyOfARoundThatEndedWithAReport) {
  MakeRoundAnd([this](ReportStore& store) {
    ASSERT_TRUE(Put(store, 1).ok());
    ASSERT_TRUE(Cancel(store).ok());
  });
  EXPECT_EQ(Look().wrapped_keys.size(), 1u);
  EXPECT_FALSE(OpenEncryptedStore(OpenStore(), {}).ok());
}

TEST_F(PostgresLookTest, AsksForNoKeyOfARoundThatEndedWithoutAReport) {
  MakeRoundAnd([this](ReportStore& store) { ASSERT_TRUE(Cancel(store).ok()); });
  EXPECT_TRUE(Look().wrapped_keys.empty());
  EXPECT_TRUE(OpenEncryptedStore(OpenStore(), {}).ok()) << "a start does not ask for it either";
}

TEST_F(PostgresLookTest, AsksForNoKeyThatIsOfNoRound) {
  MakeRoundAnd([this](ReportStore& store) {
    ASSERT_TRUE(store.ReplaceWrappedKey("00000000000000000000000000000abc", "", "of no round").ok());
    ASSERT_TRUE(Cancel(store).ok());
  });
  EXPECT_TRUE(Look().wrapped_keys.empty());
}

}  // namespace
}  // namespace blink
