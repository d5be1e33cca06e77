// Which URIs of a database are refused before anybody connects.
#include "aggregator_server/store/postgres_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PostgresUri, MayHaveEveryValueThatLibpqTakes) {
  for (const char* query :
       {"sslmode=disable", "sslmode=verify-full", "sslmode=", "target_session_attrs=prefer-standby",
        "target_session_attrs=any", "channel_binding=require", "gssencmode=disable", "connect_timeout=0",
        "keepalives=0", "keepalives_idle=30", "tcp_user_timeout=5000", "ssl_min_protocol_version=TLSv1.3",
        "sslcompression=0", "sslsni=1", "application_name=any%20text"}) {
    const auto target = PostgresTarget::Parse(absl::StrCat("postgresql://ada@h:5432/d?", query));
    EXPECT_TRUE(target.ok()) << query << ": " << target.status();
  }
  EXPECT_TRUE(PostgresTarget::Parse("postgresql://a:5433,b/d").ok());
  EXPECT_TRUE(PostgresTarget::Parse("postgresql:///d?host=/run/postgresql").ok());
}

TEST(PostgresUri, WithAValueThatLibpqRefusesIsRefusedByTheOptionWithoutThePassword) {
  for (const auto& [option, value] :
       {std::pair("sslmode", "requier"), std::pair("sslmode", "REQUIRE"), std::pair("sslmode", "sesame"),
        std::pair("target_session_attrs", "primary-only"), std::pair("channel_binding", "on"),
        std::pair("gssencmode", "yes"), std::pair("connect_timeout", "soon"), std::pair("keepalives", "true"),
        std::pair("keepalives_count", "3x"), std::pair("keepalives_interval", ""), std::pair("tcp_user_timeout", "1s"),
        std::pair("ssl_min_protocol_version", "SSLv3"), std::pair("ssl_max_protocol_version", "1.3"),
        std::pair("sslsni", "2"), std::pair("port", "0"), std::pair("port", "65536"), std::pair("port", "5432,x")}) {
    const auto refused = PostgresTarget::Parse(absl::StrCat("postgresql://ada:sesame@h/d?", option, "=", value));
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << option << "=" << value;
    EXPECT_THAT(std::string(refused.status().message()),
                AllOf(HasSubstr(absl::StrCat("a wrong ", option)), Not(HasSubstr("sesame"))));
  }
}

TEST(PostgresUri, WithASecondLineIsRefusedWithoutBeingRepeated) {
  for (const char* tail : {"\nsesame", " sesame", "\tsesame"}) {
    const absl::Status refused = PostgresTarget::Parse(absl::StrCat("postgresql://ada@h/d", tail)).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(refused.message().find("sesame"), absl::string_view::npos);
  }
}

TEST(PostgresUri, WithAnOptionThatLibpqDoesNotHaveIsRefused) {
  const auto refused = PostgresTarget::Parse("postgresql://ada:sesame@h/d?sslmod=require");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), Not(HasSubstr("sesame")));
}

}  // namespace
}  // namespace blink
