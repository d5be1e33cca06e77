// What an operator's role allows, what is recorded of it, and who did it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "aggregator_server/audit_log/audit_chain.h"
#include "common/base/durable_file.h"
#include "nlohmann/json.hpp"
#include "tests/testing/tls_aggregator.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OperatorsTest : public testing::TlsAggregatorTest {
 protected:
  template <typename Request, typename Response>
  using Method = grpc::Status (v1::OperatorService::Stub::*)(grpc::ClientContext*, const Request&, Response*);

  template <typename Request>
  grpc::Status Ask(Method<Request, v1::Round> method, const std::string& who, const std::string& round_id,
                   v1::Round* answer = nullptr) {
    Request request;
    request.set_deployment("demo");
    request.set_round_id(round_id);
    grpc::ClientContext context;
    v1::Round round;
    const grpc::Status status = (Operator(who).get()->*method)(&context, request, answer != nullptr ? answer : &round);
    return status;
  }
  grpc::Status Cancel(const std::string& who, const std::string& round_id) {
    return Ask<v1::CancelRoundRequest>(&v1::OperatorService::Stub::CancelRound, who, round_id);
  }
  grpc::Status Seal(const std::string& who, const std::string& round_id) {
    return Ask<v1::SealRoundRequest>(&v1::OperatorService::Stub::SealRound, who, round_id);
  }
  grpc::Status Retry(const std::string& who, const std::string& round_id) {
    return Ask<v1::RetryRoundRequest>(&v1::OperatorService::Stub::RetryRound, who, round_id);
  }
  grpc::Status Delete(const std::string& who, const std::string& round_id) {
    return Ask<v1::DeleteRoundRequest>(&v1::OperatorService::Stub::DeleteRound, who, round_id);
  }
  grpc::Status Look(const std::string& who, const std::string& round_id) {
    return Ask<v1::GetRoundStatusRequest>(&v1::OperatorService::Stub::GetRoundStatus, who, round_id);
  }
  grpc::Status Fetch(const std::string& who) {
    v1::GetResultRequest request;
    request.set_deployment("demo");
    request.set_round_id(round_id_);
    request.set_artifact("metrics.json");
    grpc::ClientContext context;
    const auto stub = Operator(who);
    const auto reader = stub->GetResult(&context, request);
    v1::GetResultResponse chunk;
    while (reader->Read(&chunk)) {
    }
    return reader->Finish();
  }

  v1::ListRefusedReportsResponse Refused(const std::string& who) {
    v1::ListRefusedReportsRequest request;
    request.set_deployment("demo");
    request.set_round_id(round_id_);
    grpc::ClientContext context;
    v1::ListRefusedReportsResponse response;
    const grpc::Status status = Operator(who)->ListRefusedReports(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // "asked create operator/ann", one for each record.
  std::vector<std::string> Records() {
    std::vector<std::string> records;
    for (const nlohmann::json& record : ReadRecords()) {
      records.push_back(absl::StrCat(record.at("event").get<std::string>(), " ", record.at("action").get<std::string>(),
                                     " ", record.at("who").get<std::string>()));
    }
    return records;
  }
  std::vector<nlohmann::json> ReadRecords() {
    std::vector<nlohmann::json> records;
    std::ifstream file(options_.data_folder + "/audit.log");
    for (std::string line; std::getline(file, line);) records.push_back(nlohmann::json::parse(line));
    return records;
  }
};

TEST_F(OperatorsTest, AReaderLooksAndChangesNothing) {
  EXPECT_TRUE(Look("reader/rob", round_id_).ok());
  for (const grpc::Status& refused :
       {Cancel("reader/rob", round_id_), Seal("reader/rob", round_id_), Retry("reader/rob", round_id_)}) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(refused.error_message(), HasSubstr("blink://demo/reader/rob has the role to read, and this takes the "
                                                   "role to create"));
  }
  EXPECT_EQ(Status().state(), v1::ROUND_STATE_OPEN);
  EXPECT_EQ(aggregator_->pipeline().ListRounds()->size(), 1u);
}

TEST_F(OperatorsTest, AReaderCreatesNoRound) {
  v1::CreateRoundRequest request;
  request.set_deployment("demo");
  request.mutable_parameters()->set_epsilon_micro(1'000'000);
  request.set_open_for_ms(60'000);
  grpc::ClientContext context;
  v1::Round round;
  const grpc::Status refused = Operator("reader/rob")->CreateRound(&context, request, &round);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(*aggregator_->pipeline().ListRounds(), SizeIs(1));
}

TEST_F(OperatorsTest, ACreatorEndsItsOwnRoundsAlone) {
  const grpc::Status refused = Cancel("creator/cem", round_id_);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("was created by operator/ann"));
  EXPECT_EQ(Seal("creator/cem", round_id_).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Retry("creator/cem", round_id_).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const std::string own = CreateRound("creator/cem");
  EXPECT_EQ(Cancel("operator/cem", own).error_code(), grpc::StatusCode::OK) << "who administers ends all";
  const std::string another = CreateRound("creator/cem");
  EXPECT_EQ(Cancel("creator/dan", another).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Cancel("creator/cem", another).ok());
  EXPECT_EQ(Cancel("creator/cem", std::string(32, 'f')).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(OperatorsTest, OnlyWhoAdministersDeletesARoundAndOnlyOnceItHasEnded) {
  const std::string own = CreateRound("creator/cem");
  EXPECT_EQ(Delete("operator/ann", own).error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "it is open";
  ASSERT_TRUE(Cancel("creator/cem", own).ok());
  for (const char* const who : {"reader/rob", "creator/cem"}) {
    const grpc::Status refused = Delete(who, own);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(refused.error_message(), HasSubstr("the role to administer"));
  }
  EXPECT_FALSE(aggregator_->pipeline().GetRound(own)->result_deleted());
  EXPECT_TRUE(testing::Eventually([&] { return Delete("operator/ann", own).ok(); })) << "once its run has ended";
  EXPECT_TRUE(testing::Eventually([&] { return !aggregator_->pipeline().GetRound(own)->deleting(); }));
  EXPECT_TRUE(aggregator_->pipeline().GetRound(own)->result_deleted());
}

TEST_F(OperatorsTest, ACreatorEndsNoRoundWhoseCreatorIsUnknown) {
  const auto forget = [](v1::Round& round) {
    round.clear_history();
    return absl::OkStatus();
  };
  ASSERT_TRUE(aggregator_->store().UpdateRound(round_id_, {v1::ROUND_STATE_OPEN}, forget).ok());
  const grpc::Status refused = Cancel("creator/cem", round_id_);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("somebody unknown"));
  EXPECT_TRUE(Cancel("operator/ann", round_id_).ok());
}

TEST_F(OperatorsTest, TheRoundSaysWhoCreatedAndEndedIt) {
  clock_.Advance(absl::Seconds(5));
  ASSERT_TRUE(Cancel("operator/bea", round_id_).ok());
  ASSERT_TRUE(Cancel("operator/ann", round_id_).ok()) << "a second time changes nothing";
  const v1::Round round = Status();
  ASSERT_EQ(round.history_size(), 2);
  EXPECT_EQ(round.history(0).state(), v1::ROUND_STATE_OPEN);
  EXPECT_EQ(round.history(0).by(), "operator/ann");
  EXPECT_EQ(round.history(1).state(), v1::ROUND_STATE_CANCELLED);
  EXPECT_EQ(round.history(1).by(), "operator/bea");
  EXPECT_EQ(round.history(1).at_ms() - round.history(0).at_ms(), 5000);
  EXPECT_EQ(round.progress_text(), "cancelled by operator/bea");
}

TEST_F(OperatorsTest, ADeadlineIsNobodysDoing) {
  clock_.Advance(absl::Minutes(2));
  for (int tries = 0; tries < 500 && Status().history_size() < 2; ++tries) absl::SleepFor(absl::Milliseconds(20));
  ASSERT_GE(Status().history_size(), 2);
  EXPECT_EQ(Status().history(1).by(), "");
}

TEST_F(OperatorsTest, TheAuditLogHasEveryChangeEveryResultAndEveryRefusal) {
  ASSERT_TRUE(Look("operator/ann", round_id_).ok());
  ASSERT_FALSE(Cancel("reader/rob", round_id_).ok());
  ASSERT_FALSE(Retry("operator/bea", round_id_).ok());
  ASSERT_FALSE(Fetch("reader/rob").ok()) << "the round is open";
  ASSERT_TRUE(Cancel("operator/bea", round_id_).ok());
  EXPECT_THAT(Records(),
              ElementsAre("noted start aggregator", "asked create operator/ann", "answered create operator/ann",
                          "refused cancel reader/rob", "asked retry operator/bea", "answered retry operator/bea",
                          "asked result reader/rob", "asked cancel operator/bea", "answered cancel operator/bea"));
  const std::vector<nlohmann::json> records = ReadRecords();
  EXPECT_EQ(records[2].at("round"), round_id_) << "the answer names the round that was made";
  EXPECT_THAT(records[1].at("detail"), HasSubstr("epsilon_micro: 6000000"));
  EXPECT_THAT(records[5].at("outcome"), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(records[3].at("outcome"), HasSubstr("PERMISSION_DENIED"));
  EXPECT_THAT(records[3].at("peer"), HasSubstr("127.0.0.1"));
  aggregator_.reset();
  EXPECT_EQ(Records().back(), "noted stop aggregator");
  const absl::StatusOr<AuditLogSummary> summary = ReadAuditLog(options_.data_folder + "/audit.log");
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->chain.records, 10u);
}

TEST_F(OperatorsTest, ANodeThatCallsAsAnOperatorIsRecordedOnceAMinute) {
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(Cancel("node/3", round_id_).ok());
  EXPECT_EQ(Records().back(), "refused cancel node/3");
  EXPECT_THAT(Records(), SizeIs(4));
  clock_.Advance(absl::Minutes(1));
  ASSERT_FALSE(Cancel("node/3", round_id_).ok());
  ASSERT_THAT(Records(), SizeIs(6));
  EXPECT_THAT(ReadRecords()[4].at("detail").get<std::string>(), HasSubstr("the last of 19"));
}

TEST_F(OperatorsTest, AnOperatorSeesWhichReportsWereRefusedAndWhy) {
  const PrivacyParameters parameters = testing::MakeParameters(kNodes);
  const auto send = [&](const std::string& who, NodeIndex node, uint32_t variant) {
    const CodedReport report = testing::MakeReport(parameters, node, variant);
    grpc::ClientContext context;
    v1::SubmitReportResponse response;
    const auto writer = Node(who)->SubmitReport(&context, &response);
    writer->Write(testing::HeaderMessage(testing::MakeHeader(parameters, node, report, round_id_)));
    writer->Write(testing::ChunkMessage(report.coded_bits));
    writer->WritesDone();
    return writer->Finish().error_code();
  };
  ASSERT_EQ(send("node/7", 7, 0), grpc::StatusCode::OK);
  ASSERT_EQ(send("node/7", 7, 1), grpc::StatusCode::ALREADY_EXISTS);
  ASSERT_EQ(send("node/7", 7, 2), grpc::StatusCode::ALREADY_EXISTS);
  ASSERT_EQ(send("node/8", 9, 0), grpc::StatusCode::PERMISSION_DENIED);
  const v1::ListRefusedReportsResponse refused = Refused("reader/rob");
  ASSERT_EQ(refused.refused_size(), 2);
  EXPECT_EQ(refused.refused(0).node_id(), 7u);
  EXPECT_EQ(refused.refused(0).by(), "node/7");
  EXPECT_EQ(refused.refused(0).count(), 2u);
  EXPECT_EQ(refused.refused(1).node_id(), 9u) << "as it was claimed";
  EXPECT_EQ(refused.refused(1).by(), "node/8");
  EXPECT_THAT(refused.refused(1).message(), HasSubstr("does not cover node 9"));
}

TEST_F(OperatorsTest, AnOperatorLearnsThatACertificateIsUsedTwiceFromTheDeviceThatStops) {
  const auto note = [&](const std::string& who, uint64_t node) {
    v1::NoteForeignReportRequest request;
    request.set_deployment("demo");
    request.set_node_id(node);
    request.set_round_id(round_id_);
    grpc::ClientContext context;
    v1::NoteForeignReportResponse response;
    return Node(who)->NoteForeignReport(&context, request, &response).error_code();
  };
  EXPECT_EQ(note("node/7", 7), grpc::StatusCode::FAILED_PRECONDITION) << "none is held";
  EXPECT_EQ(note("node/7", 8), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(note("operator/ann", 7), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Refused("operator/ann").refused_size(), 0);
  const PrivacyParameters parameters = testing::MakeParameters(kNodes);
  CheckedReport report{.round_id = round_id_, .node = 7, .report = testing::MakeReport(parameters, 7)};
  ASSERT_TRUE(aggregator_->store().PutReportAndWait(report).ok());
  EXPECT_EQ(note("node/7", 7), grpc::StatusCode::OK);
  ASSERT_EQ(Refused("operator/ann").refused_size(), 1);
  EXPECT_THAT(Refused("operator/ann").refused(0).message(), HasSubstr("its certificate is used twice"));
}

TEST_F(OperatorsTest, NobodyButAnOperatorSeesWhatWasRefused) {
  v1::ListRefusedReportsRequest request;
  request.set_deployment("demo");
  request.set_round_id(round_id_);
  v1::ListRefusedReportsResponse response;
  grpc::ClientContext context, another;
  EXPECT_EQ(Operator("node/7")->ListRefusedReports(&context, request, &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  request.set_round_id(std::string(32, 'f'));
  EXPECT_EQ(Operator()->ListRefusedReports(&another, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(OperatorsTest, WhatIsTooLargeOrUnknownIsNotKept) {
  v1::CreateRoundRequest request;
  request.set_deployment("demo");
  request.mutable_parameters()->set_epsilon_micro(6'000'000);
  request.set_open_for_ms(60'000);
  auto* const unknown = request.mutable_training()->GetReflection()->MutableUnknownFields(request.mutable_training());
  unknown->AddLengthDelimited(2000)->assign(5000, 'x');
  v1::Round round;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(Operator()->CreateRound(&context, request, &round).ok());
    EXPECT_LT(round.ByteSizeLong(), 1000u) << "fields of another version are not kept with the round";
  }
  unknown->AddLengthDelimited(2001)->assign(100'000, 'x');
  grpc::ClientContext context, another;
  const grpc::Status refused = Operator()->CreateRound(&context, request, &round);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("at most 16384 are taken"));
  v1::GetResultRequest result;
  result.set_deployment("demo");
  result.set_round_id(round_id_);
  result.set_artifact(std::string(1'000'000, '\x01'));
  EXPECT_EQ(Operator("reader/rob")->GetResult(&another, result)->Finish().error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_LT(std::filesystem::file_size(options_.data_folder + "/audit.log"), 20'000u);
}

TEST_F(OperatorsTest, AnOperatorFetchesFewFilesAtATimeAndOthersGoOn) {
  const std::string folder = options_.data_folder + "/rounds/" + round_id_ + "/result";
  ASSERT_TRUE(MakeDirectories(folder).ok());
  const auto make_ready = [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_READY);
    return absl::OkStatus();
  };
  ASSERT_TRUE(aggregator_->store().UpdateRound(round_id_, {v1::ROUND_STATE_OPEN}, make_ready).ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/links.csv", "").ok());
  std::filesystem::resize_file(folder + "/links.csv", 256 << 20);  // no buffer on the way holds it
  ASSERT_TRUE(WriteFileAtomically(folder + "/metrics.json", "{}").ok());
  v1::GetResultRequest request;
  request.set_deployment("demo");
  request.set_round_id(round_id_);
  request.set_artifact("links.csv");
  std::vector<std::unique_ptr<v1::OperatorService::Stub>> stubs;  // on connections of their own
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::GetResultResponse>>> readers;
  for (int i = 0; i < 16; ++i) {  // and reads one chunk of each
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    stubs.push_back(Operator("reader/rob"));
    readers.push_back(stubs.back()->GetResult(contexts.back().get(), request));
    v1::GetResultResponse chunk;
    EXPECT_TRUE(readers.back()->Read(&chunk));
  }
  EXPECT_EQ(Fetch("reader/rob").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(Fetch("reader/ria").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& reader : readers) (void)reader->Finish();
  for (int tries = 0; tries < 500 && Fetch("reader/rob").error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
       ++tries) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_NE(Fetch("reader/rob").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "what is let go is free again";
}

TEST_F(OperatorsTest, ARoundIdThatIsNoneIsRefusedBeforeItIsRecordedOrRepeated) {
  for (const std::string& id : {round_id_ + std::string(1, '\0'), std::string(10'000, 'a'), std::string("../x")}) {
    for (const grpc::Status& refused :
         {Cancel("operator/ann", id), Seal("creator/cem", id), Retry("operator/ann", id), Look("reader/rob", id)}) {
      EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_LT(refused.error_message().size(), 300u);
    }
  }
  EXPECT_EQ(Status().state(), v1::ROUND_STATE_OPEN);
}

TEST_F(OperatorsTest, ACreatorsRequestIdNamesNoRoundOfAnother) {
  v1::CreateRoundRequest request;
  request.set_deployment("demo");
  request.mutable_parameters()->set_epsilon_micro(6'000'000);
  request.set_open_for_ms(60'000);
  request.set_request_id("nightly");
  const auto create = [&](const std::string& who) {
    grpc::ClientContext context;
    v1::Round round;
    return Operator(who)->CreateRound(&context, request, &round).error_code();
  };
  EXPECT_EQ(create("creator/cem"), grpc::StatusCode::OK);
  EXPECT_EQ(create("creator/cem"), grpc::StatusCode::OK) << "its own, once more";
  EXPECT_EQ(create("creator/dan"), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(create("operator/ann"), grpc::StatusCode::OK) << "who administers sees all rounds as one";
}

TEST_F(OperatorsTest, WhatCannotBeRecordedIsNotDone) {
  // A file-size limit, as a full disk would, refuses the next record.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const grpc::Status refused = Cancel("operator/ann", round_id_);
  const grpc::Status unread = Fetch("operator/ann");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("audit log"));
  EXPECT_EQ(unread.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << unread.error_message();
  EXPECT_EQ(Status().state(), v1::ROUND_STATE_OPEN);
  EXPECT_TRUE(ReadAuditLog(options_.data_folder + "/audit.log").ok()) << "no half record is left";
  EXPECT_TRUE(Cancel("operator/ann", round_id_).ok()) << "with room it goes on";
}

TEST_F(OperatorsTest, AnAggregatorWhoseAuditLogWasChangedDoesNotStart) {
  aggregator_.reset();
  const std::string path = options_.data_folder + "/audit.log";
  std::string text = *ReadFile(path, 1 << 20);
  text.replace(text.find("operator/ann"), 12, "operator/bob");
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  const auto started = Aggregator::Start(options_, clock_);
  EXPECT_EQ(started.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(started.status().message(), HasSubstr("record 2 was changed"));
  EXPECT_THAT(started.status().message(), HasSubstr("move it away"));
}

}  // namespace
}  // namespace blink
