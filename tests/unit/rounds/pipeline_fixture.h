// A pipeline of rounds of 20 nodes, whose worker is a script that behaves as a test tells it to (fake_worker.sh).
#ifndef BLINK_TESTS_UNIT_ROUNDS_PIPELINE_FIXTURE_H_
#define BLINK_TESTS_UNIT_ROUNDS_PIPELINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/places.h"
#include "tests/unit/rounds/failing_store.h"

namespace blink {

class PipelineTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kNodes = 20;

  PipelineTest() {
    options_.deployment = "demo";
    options_.node_count = kNodes;
    options_.roster_version = 4;
    options_.rounds_folder = folder_ / "rounds";
    options_.attributes_folder = folder_ / "attributes";
    options_.worker_path = testing::InSources("tests/unit/rounds/fake_worker.sh");
    std::filesystem::create_directories(options_.attributes_folder);
    Behave("succeed");
  }
  void SetUp() override {
    auto store = OpenRocksDbStore(folder_ / "store");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::make_unique<FailingStore>(*std::move(store));
    StartPipeline();
  }
  void TearDown() override {
    pipeline_.reset();
    store_.reset();
  }
  void StartPipeline() {
    pipeline_.reset();
    pipeline_ = std::make_unique<Pipeline>(options_, *store_, clock_);
    ASSERT_TRUE(pipeline_->Start().ok());
  }
  void Behave(const std::string& behaviour) { std::ofstream(options_.attributes_folder + "/behaviour") << behaviour; }
  int Starts() {
    std::ifstream file(options_.attributes_folder + "/starts");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }
  std::string Create(uint32_t quorum = 1, const std::string& request_id = "") {
    const auto round = pipeline_->CreateRound(Request(quorum, request_id));
    EXPECT_TRUE(round.ok()) << round.status();
    return round->round_id();
  }
  static v1::CreateRoundRequest Request(uint32_t quorum = 1, const std::string& request_id = "") {
    v1::CreateRoundRequest request;
    request.set_deployment("demo");
    request.mutable_parameters()->set_epsilon_micro(6'000'000);
    request.mutable_parameters()->set_degree_share_ppm(100'000);
    request.set_open_for_ms(60'000);
    request.set_quorum(quorum);
    request.set_request_id(request_id);
    return request;
  }
  void Report(const std::string& round_id, NodeIndex first, NodeIndex last) {
    for (NodeIndex node = first; node <= last; ++node) {
      const auto put = store_->PutReportAndWait(testing::MakeChecked(parameters_, node, 0, round_id));
      ASSERT_TRUE(put.ok()) << put.status();
      pipeline_->NoteReport(round_id, put->reports);
    }
  }
  bool HasCheckpoint(const std::string& round_id) const {
    return std::filesystem::exists(options_.rounds_folder + "/" + round_id + "/result.checkpoint");
  }
  v1::Round Get(const std::string& round_id) { return *pipeline_->GetRound(round_id); }
  bool Reaches(const std::string& round_id, v1::RoundState state) {
    const bool reached = testing::Eventually([&] { return Get(round_id).state() == state; });
    if (!reached) ADD_FAILURE() << Get(round_id).ShortDebugString();
    return reached;
  }

  testing::TempFolder folder_;
  testing::ManualClock clock_;
  PipelineOptions options_;
  const PrivacyParameters parameters_ = testing::MakeParameters(kNodes);
  std::unique_ptr<FailingStore> store_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_ROUNDS_PIPELINE_FIXTURE_H_
