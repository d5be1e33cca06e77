#include "common/pki/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace blink {
namespace {

using ::testing::HasSubstr;

TEST(Identity, ReadsEveryKindAndWritesItBackUnchanged) {
  for (const char* uri : {"blink://demo/node/0", "blink://demo/node/17", "blink://demo/nodes/0-135",
                          "blink://a-1/operator/alice", "blink://demo/creator/alice", "blink://demo/reader/alice",
                          "blink://demo/aggregator", "blink://demo/node/18446744073709551615"}) {
    const absl::StatusOr<Identity> identity = Identity::FromUri(uri);
    ASSERT_TRUE(identity.ok()) << identity.status();
    EXPECT_EQ(identity->ToUri(), uri);
  }
}

TEST(Identity, CoversItsRangeAndNothingElse) {
  const Identity gateway = *Identity::FromUri("blink://demo/nodes/3-7");
  EXPECT_FALSE(gateway.Covers(2));
  EXPECT_TRUE(gateway.Covers(3));
  EXPECT_TRUE(gateway.Covers(7));
  EXPECT_FALSE(gateway.Covers(8));
  EXPECT_FALSE(Identity::FromUri("blink://demo/operator/alice")->Covers(0));
  EXPECT_FALSE(Identity::FromUri("blink://demo/aggregator")->Covers(0));
}

TEST(Identity, AnOperatorHasTheRoleThatItsPathNames) {
  EXPECT_EQ(Identity::FromUri("blink://demo/reader/ann")->role, Role::kRead);
  EXPECT_EQ(Identity::FromUri("blink://demo/creator/ann")->role, Role::kCreate);
  EXPECT_EQ(Identity::FromUri("blink://demo/operator/ann")->role, Role::kAdminister);
  EXPECT_EQ(Identity::FromUri("blink://demo/reader/ann")->Path(), "reader/ann");
  EXPECT_LT(Role::kRead, Role::kCreate);
  EXPECT_LT(Role::kCreate, Role::kAdminister);
}

class IdentityRefusal : public ::testing::TestWithParam<std::string> {};

TEST_P(IdentityRefusal, RefusesEveryOtherSpelling) {
  const absl::StatusOr<Identity> identity = Identity::FromUri(GetParam());
  EXPECT_EQ(identity.status().code(), absl::StatusCode::kInvalidArgument) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, IdentityRefusal,
    ::testing::Values("", "blink:", "blink://", "blink:///aggregator", "http://demo/aggregator",
                      "BLINK://demo/aggregator", "blink://Demo/aggregator", "blink://de mo/aggregator", "blink://demo",
                      "blink://demo/", "blink://demo//", "blink://demo/aggregator/", "blink://demo/aggregator/x",
                      "blink://demo/Aggregator", "blink://demo/node", "blink://demo/node/", "blink://demo/node/-1",
                      "blink://demo/node/+1", "blink://demo/node/01", "blink://demo/node/00", "blink://demo/node/1x",
                      "blink://demo/node/ 1", "blink://demo/node/1 ", "blink://demo/node/18446744073709551616",
                      "blink://demo/node/1/2", "blink://demo/node/0x1", "blink://demo/nodes/", "blink://demo/nodes/5",
                      "blink://demo/nodes/5-", "blink://demo/nodes/-5", "blink://demo/nodes/5-5",
                      "blink://demo/nodes/6-5", "blink://demo/nodes/05-6", "blink://demo/nodes/5-06",
                      "blink://demo/nodes/1-2-3", "blink://demo/nodes/1--2", "blink://demo/operator",
                      "blink://demo/operator/", "blink://demo/operator/Alice", "blink://demo/operator/a/b",
                      "blink://demo/reader", "blink://demo/reader/", "blink://demo/creator/A", "blink://demo/Reader/a",
                      "blink://demo/readers/a", "blink://demo/worker/1", "blink://demo/aggregator?x=1",
                      "blink://demo/aggregator#x", "blink://demo:7443/aggregator", " blink://demo/aggregator",
                      "blink://demo/aggregator\n", std::string("blink://demo/aggregator\0", 24),
                      std::string("blink://") + std::string(65, 'a') + "/aggregator",
                      std::string("blink://demo/operator/") + std::string(65, 'a'),
                      std::string("blink://demo/node/") + std::string(300, '1')));

TEST(Identity, ADeploymentMayHave64Characters) {
  EXPECT_TRUE(Identity::FromUri("blink://" + std::string(64, 'a') + "/aggregator").ok());
}

TEST(Identity, SaysWhatIsWrong) {
  EXPECT_THAT(std::string(Identity::FromUri("blink://demo/nodes/6-5").status().message()), HasSubstr("below its last"));
  EXPECT_THAT(std::string(Identity::FromUri("blink://demo/node/01").status().message()), HasSubstr("leading zeros"));
}

}  // namespace
}  // namespace blink
