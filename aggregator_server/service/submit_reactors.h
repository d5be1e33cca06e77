// The two streams on which reports arrive.
//
// A stream may end while its report is still with the store. The report is then durable and not acknowledged: when the
// node sends it again, it gets its receipt. The store's callback therefore keeps the reactor alive (KeepAlive).
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_SUBMIT_REACTORS_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_SUBMIT_REACTORS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "aggregator_server/ingest/ingest.h"
#include "aggregator_server/transport/guarded_reactor.h"
#include "blink/v1/node.grpc.pb.h"

namespace blink {

// One report: a header, then its bits in chunks. INVALID_ARGUMENT names what is out of order.
class SubmitReportReactor final : public GuardedReactor<grpc::ServerReadReactor<v1::SubmitReportRequest>> {
 public:
  // For LaunchReactor. All outlive the stream.
  SubmitReportReactor(grpc::CallbackServerContext& context, v1::SubmitReportResponse& response,
                      const Authenticator& authenticator, Ingest& ingest, StreamTimer& timer)
      : GuardedReactor(context, authenticator, &timer, ingest.limits().report_time_max),
        response_(response),
        ingest_(ingest) {}

  void OnReadDone(bool ok) override;

 private:
  void Begin() override;
  Time OnTime() override;
  std::optional<RetryWindow> WindowFor(const absl::Status& status) const override;

  absl::Status TakeHeader(const v1::ReportHeader& header);
  absl::Status TakeChunk(const std::string& chunk);
  absl::Status TakeMessage();
  absl::Status CheckComplete() const;
  void Conclude(const absl::StatusOr<v1::Receipt>& outcome);

  v1::SubmitReportResponse& response_;  // used before Finish only
  Ingest& ingest_;
  bool told_to_end_ = false;  // of OnTime

  v1::SubmitReportRequest request_;
  std::optional<Ingest::Admission> admission_;
  std::string coded_bits_;
};

// Many reports of a gateway. At most kInFlightMax of them are between arrival and the writing of their reply: a peer
// that does not read its replies is not read either.
class SubmitReportsReactor final
    : public GuardedReactor<grpc::ServerBidiReactor<v1::SubmitReportsRequest, v1::SubmitReportsResponse>> {
 public:
  static constexpr int kInFlightMax = 1024;

  // For LaunchReactor. All outlive the stream.
  SubmitReportsReactor(grpc::CallbackServerContext& context, const Authenticator& authenticator, Ingest& ingest,
                       StreamTimer& timer)
      : GuardedReactor(context, authenticator, &timer, ingest.limits().report_time_max),
        ingest_(ingest),
        active_(StreamTimer::Clock::now()) {}

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

 private:
  void Begin() override;
  Time OnTime() override;
  std::optional<RetryWindow> WindowFor(const absl::Status& status) const override;

  void TakeReport(v1::SubmitReportsRequest request);
  absl::StatusOr<Ingest::Admission> Admit(const v1::SubmitReportsRequest& request);
  void Reply(uint64_t node, const absl::StatusOr<v1::Receipt>& outcome);
  void WriteNextLocked();

  void Unsubscribe() override { LogReports(); }
  void LogReports() const;

  Ingest& ingest_;
  v1::SubmitReportsRequest request_;
  std::optional<Identity> identity_;
  std::string round_id_;  // of the last report that was admitted
  const std::shared_ptr<std::atomic<uint32_t>> fresh_ = std::make_shared<std::atomic<uint32_t>>(0);

  // Guarded by mutex_.
  Time active_;                                    // when the peer last did something
  std::deque<v1::SubmitReportsResponse> replies_;  // front: being written
  int in_flight_ = 0;
  bool writing_ = false;
  bool read_paused_ = false;
  bool read_ended_ = false;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_SUBMIT_REACTORS_H_
