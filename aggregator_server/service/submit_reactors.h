// The two streams on which reports arrive.
//
// A reactor may be finished by its peer, by the timer, by the authenticator (its certificate is revoked or has expired)
// or by its own verdict, while its report is still with the store: then the report is durable and not acknowledged, and
// sent again it gets its receipt. It therefore lives as long as anybody holds it: gRPC (until OnDone, through self_) or
// a callback of the store.
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_SUBMIT_REACTORS_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_SUBMIT_REACTORS_H_

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "aggregator_server/ingest/ingest.h"
#include "aggregator_server/transport/authenticator.h"
#include "aggregator_server/transport/stream_timer.h"
#include "blink/v1/node.grpc.pb.h"

namespace blink {

// One report: a header, then its bits in chunks. INVALID_ARGUMENT names what is out of order.
class SubmitReportReactor final : public grpc::ServerReadReactor<v1::SubmitReportRequest> {
 public:
  // Starts reading. The object deletes itself.
  static SubmitReportReactor* Start(grpc::CallbackServerContext& context, v1::SubmitReportResponse& response,
                                    const Authenticator& authenticator, Ingest& ingest, StreamTimer& timer);

  void OnReadDone(bool ok) override;
  void OnCancel() override { FinishWith(absl::CancelledError("the call was cancelled")); }
  void OnDone() override;

 private:
  SubmitReportReactor(grpc::CallbackServerContext& context, v1::SubmitReportResponse& response,
                      const Authenticator& authenticator, Ingest& ingest, StreamTimer& timer)
      : context_(context), response_(response), authenticator_(authenticator), ingest_(ingest), timer_(timer) {}

  absl::Status TakeHeader(const v1::ReportHeader& header);
  absl::Status TakeChunk(const std::string& chunk);
  void EndOfStream();
  void FinishWith(const absl::StatusOr<v1::Receipt>& outcome);

  grpc::CallbackServerContext& context_;  // valid until OnDone: only used before Finish
  v1::SubmitReportResponse& response_;    // the same
  const Authenticator& authenticator_;
  Ingest& ingest_;
  StreamTimer& timer_;
  std::shared_ptr<SubmitReportReactor> self_;
  uint64_t timer_id_ = 0;
  uint64_t stream_id_ = 0;  // of the authenticator

  v1::SubmitReportRequest request_;
  std::optional<Ingest::Admission> admission_;
  std::string coded_bits_;

  std::mutex mutex_;
  bool finished_ = false;
};

// Many reports of a gateway. At most kInFlightMax of them are between arrival and the writing of their reply: a peer
// that does not read its replies is not read either.
class SubmitReportsReactor final : public grpc::ServerBidiReactor<v1::SubmitReportsRequest, v1::SubmitReportsResponse> {
 public:
  static constexpr int kInFlightMax = 1024;

  static SubmitReportsReactor* Start(grpc::CallbackServerContext& context, const Authenticator& authenticator,
                                     Ingest& ingest, StreamTimer& timer);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { FinishWith(absl::CancelledError("the call was cancelled")); }
  void OnDone() override;

 private:
  SubmitReportsReactor(grpc::CallbackServerContext& context, const Authenticator& authenticator, Ingest& ingest,
                       StreamTimer& timer)
      : context_(context), authenticator_(authenticator), ingest_(ingest), timer_(timer) {}

  void TakeReport(v1::SubmitReportsRequest request);
  absl::StatusOr<Ingest::Admission> Admit(const v1::SubmitReportsRequest& request);
  void Reply(uint64_t node, const absl::StatusOr<v1::Receipt>& outcome);
  void WriteNext();  // with the lock held
  void FinishWith(const absl::Status& status);
  void FinishLocked(const absl::Status& status);
  StreamTimer::Clock::time_point CheckIdle();

  grpc::CallbackServerContext& context_;
  const Authenticator& authenticator_;
  Ingest& ingest_;
  StreamTimer& timer_;
  std::shared_ptr<SubmitReportsReactor> self_;
  uint64_t timer_id_ = 0;
  uint64_t stream_id_ = 0;  // of the authenticator
  v1::SubmitReportsRequest request_;
  std::optional<Identity> identity_;

  std::mutex mutex_;
  StreamTimer::Clock::time_point active_;          // when the peer last did something
  std::deque<v1::SubmitReportsResponse> replies_;  // front: being written
  int in_flight_ = 0;
  bool writing_ = false;
  bool read_paused_ = false;
  bool read_ended_ = false;
  bool finished_ = false;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_SUBMIT_REACTORS_H_
