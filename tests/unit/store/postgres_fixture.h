// A store in PostgreSQL, and what its tests do with it.
#ifndef BLINK_TESTS_UNIT_STORE_POSTGRES_FIXTURE_H_
#define BLINK_TESTS_UNIT_STORE_POSTGRES_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "aggregator_server/store/postgres_store.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/postgres_server.h"

namespace blink {

inline PostgresTarget TargetOf(const std::string& uri) {
  const auto target = PostgresTarget::Parse(uri);
  EXPECT_TRUE(target.ok()) << target.status();
  return *target;
}

class PostgresTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kNodes = 2000;

  void SetUp() override {
    if (const std::string missing = testing::PostgresServer::WhatIsMissing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  // Makes one whose files are as durable as in use.
  void StartServer(std::vector<std::string> settings = {"fsync=off"}) {
    server_ = std::make_unique<testing::PostgresServer>(std::move(settings));
    uri_ = server_->MakeDatabase();
  }
  std::unique_ptr<ReportStore> OpenStore(PostgresOptions options = {}) {
    auto store = OpenPostgresStore(TargetOf(uri_), options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  std::string Sql(const std::string& statement) { return server_->Sql(statement, uri_.substr(uri_.rfind('/') + 1)); }
  absl::StatusOr<PutOutcome> Put(ReportStore& store, NodeIndex node, const std::string& round_id = testing::kRoundId) {
    return store.PutReportAndWait(testing::MakeChecked(parameters_, node, 0, round_id));
  }
  static absl::StatusOr<v1::Round> Seal(ReportStore& store, const std::string& round_id = testing::kRoundId) {
    return store.UpdateRound(round_id, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
      round.set_state(v1::ROUND_STATE_SEALED);
      return absl::OkStatus();
    });
  }
  static uint64_t CountReports(ReportStore& store) { return testing::ReportsOf(store, testing::kRoundId).size(); }

  const PrivacyParameters parameters_ = testing::MakeParameters(kNodes);
  std::unique_ptr<testing::PostgresServer> server_;
  std::string uri_;
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_STORE_POSTGRES_FIXTURE_H_
