// What `blink audit` prints.
#ifndef BLINK_TOOLS_AUDIT_REPORT_H_
#define BLINK_TOOLS_AUDIT_REPORT_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/audit/mechanism.h"
#include "tools/audit/randomness.h"

namespace blink {

// For programs.
nlohmann::ordered_json MechanismAuditJson(const MechanismAudit& audit);
nlohmann::ordered_json RandomnessAuditJson(const RandomnessAudit& audit);

// The same figures for a person.
std::string MechanismAuditTable(const MechanismAudit& audit);
std::string RandomnessAuditTable(const RandomnessAudit& audit);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_REPORT_H_
