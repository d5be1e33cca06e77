// The audit of the mechanism that this module privatises with.
#include <nanobind/stl/string.h>

#include <atomic>

#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/privacy/parameters.h"
#include "python/bindings/arguments.h"
#include "tools/audit/mechanism.h"
#include "tools/audit/report.h"

namespace blink::python {
namespace {

std::string Audit(uint64_t epsilon_micro, uint32_t degree_share_ppm, uint32_t nodes, uint64_t reports, int threads) {
  return RunUntilSignal([&](const std::atomic<bool>& stop) -> absl::StatusOr<std::string> {
    BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                           PrivacyParameters::Create(epsilon_micro, degree_share_ppm, nodes));
    const MechanismAuditOptions options{
        .parameters = parameters, .reports = reports, .threads = ThreadsOrCores(threads), .stop = &stop};
    BLINK_RETURN_IF_ERROR(CheckMemory(MechanismAuditBytes(options), "an audit"));
    BLINK_ASSIGN_OR_RETURN(const MechanismAudit audit, AuditMechanism(options, ShippedMechanism(parameters)));
    return MechanismAuditJson(audit).dump();
  });
}

}  // namespace

void BindAudit(nb::module_& module) {
  module.def("audit_mechanism", &Audit, nb::arg("epsilon_micro"), nb::arg("degree_share_ppm"), nb::arg("nodes"),
             nb::arg("reports"), nb::arg("threads"));
}

}  // namespace blink::python
