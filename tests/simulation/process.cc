#include "tests/simulation/process.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "aggregator_server/store/rocksdb_store.h"
#include "common/base/status_macros.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink::simulation {
namespace {

constexpr uint64_t kRosterVersion = 1;

// The answers of one submission, which may come from the store's thread.
class Answers {
 public:
  explicit Answers(size_t count) : missing_(count), answers_(count, absl::UnknownError("no answer")) {}
  std::function<void(absl::StatusOr<v1::Receipt>)> Take(size_t i) {
    return [this, i](absl::StatusOr<v1::Receipt> answer) {
      const std::lock_guard<std::mutex> lock(mutex_);
      answers_[i] = std::move(answer);
      if (--missing_ == 0) all_.notify_all();
    };
  }
  std::vector<absl::StatusOr<v1::Receipt>> Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    all_.wait(lock, [this] { return missing_ == 0; });
    return std::move(answers_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  size_t missing_;
  std::vector<absl::StatusOr<v1::Receipt>> answers_;
};

Identity IdentityOf(NodeIndex node) {
  Identity identity;
  identity.deployment = "demo";
  identity.first_node = identity.last_node = node;
  return identity;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Process>> Process::Start(const ProcessPlace& place, WorkerRunner run_worker,
                                                        std::function<std::string()> draw_round_id) {
  std::unique_ptr<Process> process(new Process());
  if (place.database != nullptr) {
    auto shared = std::make_unique<SharedStore>(*place.database);
    process->shared_ = shared.get();
    process->store_ = std::move(shared);
  } else {
    RocksDbOptions options;
    options.env = place.disk->env();
    options.free_bytes = place.disk->FreeBytes();
    BLINK_ASSIGN_OR_RETURN(process->store_, OpenRocksDbStore(place.folder + "/store", options));
  }
  PipelineOptions options;
  options.deployment = "demo";
  options.node_count = kNodes;
  options.roster_version = kRosterVersion;
  options.rounds_folder = place.folder + "/rounds";
  options.retry_after = options.retry_after_max = absl::ZeroDuration();  // the simulation decides when
  options.run_worker = std::move(run_worker);
  options.draw_round_id = std::move(draw_round_id);
  process->pipeline_ = std::make_unique<Pipeline>(std::move(options), *process->store_, *place.clock);
  Pipeline* const pipeline = process->pipeline_.get();
  process->ingest_ = std::make_unique<Ingest>(
      Deployment{.name = "demo", .node_count = kNodes, .roster_version = kRosterVersion}, IngestLimits(),
      *process->store_, *place.clock,
      [pipeline](const std::string& round_id, uint32_t reports) { pipeline->NoteReport(round_id, reports); });
  BLINK_RETURN_IF_ERROR(pipeline->TakeUp());
  return process;
}

Process::~Process() {
  if (pipeline_ != nullptr) pipeline_->Stop();
  store_.reset();  // answers what it was asked, so that the others must still be there
}

std::vector<absl::StatusOr<v1::Receipt>> Process::Submit(const std::vector<Submission>& submissions) {
  Answers answers(submissions.size());
  const auto submit = [&] {
    for (size_t i = 0; i < submissions.size(); ++i) {
      const Submission& sent = submissions[i];
      const absl::StatusOr<v1::Round> round = store_->GetRound(sent.round_id);
      const PrivacyParameters parameters =
          round.ok() ? *ParametersFromProto(round->parameters()) : testing::MakeParameters(kNodes);
      absl::StatusOr<Ingest::Admission> admission =
          ingest_->Admit(IdentityOf(sent.node), testing::MakeHeader(parameters, sent.node, sent.report, sent.round_id));
      if (!admission.ok()) {
        answers.Take(i)(admission.status());
      } else {
        ingest_->Submit(*std::move(admission), sent.report.coded_bits, answers.Take(i));
      }
    }
  };
  if (submissions.size() == 1 || shared_ != nullptr) {
    submit();
    return answers.Wait();
  }
  // While a change of a round is made, reports gather for the next batch.
  const absl::Status held_up =
      store_
          ->UpdateRound(
              submissions.front().round_id,
              {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING, v1::ROUND_STATE_TRAINING,
               v1::ROUND_STATE_READY, v1::ROUND_STATE_FAILED, v1::ROUND_STATE_CANCELLED},
              [&](v1::Round&) {
                submit();
                return absl::CancelledError("nothing is to be changed");
              })
          .status();
  if (!absl::IsCancelled(held_up)) submit();
  return answers.Wait();
}

}  // namespace blink::simulation
