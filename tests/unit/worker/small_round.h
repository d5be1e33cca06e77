// A small data set and a round of its reports, drawn by the real mechanism, as an aggregator would store them.
#ifndef BLINK_TESTS_UNIT_WORKER_SMALL_ROUND_H_
#define BLINK_TESTS_UNIT_WORKER_SMALL_ROUND_H_

#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator_server/reports/report_file.h"
#include "common/graph/dataset.h"
#include "common/privacy/privatizer.h"
#include "common/wire/report_codec.h"
#include "common/wire/round.h"
#include "gtest/gtest.h"

namespace blink::testing {

inline Dataset SmallDataset() {
  SyntheticOptions options;
  options.nodes = 200;
  options.classes = 3;
  options.features = 50;
  options.words_per_node = 6;
  Dataset data = GenerateDataset(options).value();
  data.name = "small";
  return data;
}

inline v1::TrainingSpec SmallSpec() {
  v1::TrainingSpec spec;
  spec.set_learning_rate(0.05);
  spec.set_weight_decay(0.0);
  spec.set_dropout(0.25);
  spec.set_epochs(20);
  spec.set_seed(7);
  spec.set_device("cpu");
  return spec;
}

// <folder>/{round,dataset,attributes}; removed at the end.
class SmallRound : public ::testing::Test {
 protected:
  explicit SmallRound(Mechanism mechanism = Mechanism::kBothEnds)
      : data_(SmallDataset()), parameters_(PrivacyParameters::Create(6'000'000, 100'000, 200, mechanism).value()) {
    folder_ = absl::StrCat(::testing::TempDir(), "/small_round_", ::getpid(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/round");
    std::filesystem::create_directories(folder_ + "/dataset");
    std::filesystem::create_directories(folder_ + "/attributes");
  }
  ~SmallRound() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    ASSERT_TRUE(WriteDataset(data_, folder_ + "/dataset").ok());
    ASSERT_TRUE(WriteAttributes(data_.attributes, folder_ + "/attributes").ok());
    v1::Round round;
    round.set_round_id(std::string(32, 'a'));
    round.set_deployment("small");
    *round.mutable_parameters() = ParametersToProto(parameters_);
    *round.mutable_training() = SmallSpec();
    round.set_reports(kReports);
    ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
    auto writer = ReportFileWriter::Create(folder_ + "/round/reports.blr").value();
    for (NodeIndex i = 0; i < 200; ++i) {
      if (i % 10 == 3) continue;  // never reported
      const auto report =
          ApplyNoise(parameters_, i, DrawNoise(parameters_, i, SecureRandom()).value(), data_.graph.NeighboursOf(i));
      ASSERT_TRUE(writer->Add(i, EncodeReport(parameters_, *report)).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
  }

  static constexpr uint32_t kReports = 180;  // of 200 nodes

  std::string folder_;
  Dataset data_;
  PrivacyParameters parameters_;
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_UNIT_WORKER_SMALL_ROUND_H_
