// `blink audit links`: draws reports of a data set whose links are known, analyses them as a round's worker does,
// trains the models that an aggregator would publish, and attacks each link.
//
//                  features only      true links        reports at each epsilon
//   posterior           –                 –             P_ij of the estimate
//   features       their cosine           –                 –
//   similarity     of the MLP         of the model      of the model
//   influence      of the MLP: none   of the model      of the model
//
// For research: it sees the true links.
#ifndef BLINK_TOOLS_LINK_AUDIT_RUN_H_
#define BLINK_TOOLS_LINK_AUDIT_RUN_H_

#include <functional>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "tools/link_audit/findings.h"
#include "tools/link_audit/options.h"

namespace blink {

// An audit that another thread may look at while it goes on.
class LinkAuditSoFar {
 public:
  // All that is known before the first trial.
  void Begin(LinkAudit described) {
    const std::lock_guard<std::mutex> lock(mutex_);
    audit_ = std::move(described);
    has_begun_ = true;
  }
  void Add(AuditTrial trial) {
    const std::lock_guard<std::mutex> lock(mutex_);
    audit_.trials.push_back(std::move(trial));
  }
  // Nothing changes while `look` runs. Does not call it before Begin.
  void Look(const std::function<void(const LinkAudit&)>& look) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (has_begun_) look(audit_);
  }
  LinkAudit Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_begun_ = false;
    return std::move(audit_);
  }

 private:
  std::mutex mutex_;
  bool has_begun_ = false;
  LinkAudit audit_;
};

// INVALID_ARGUMENT when options are out of range, or the data set has too few nodes or no link; errors of the data set
// and of the training as they come. RESOURCE_EXHAUSTED: the memory does not suffice. UNAVAILABLE: the random source
// fails.
absl::StatusOr<LinkAudit> AuditLinks(const LinkAuditOptions& options, LinkAuditSoFar& so_far);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_RUN_H_
