// What `blink audit` prints.
#ifndef BLINK_TOOLS_AUDIT_REPORT_H_
#define BLINK_TOOLS_AUDIT_REPORT_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/audit/mechanism.h"
#include "tools/audit/randomness.h"

namespace blink {

nlohmann::ordered_json MechanismAuditJson(const MechanismAudit& audit);
nlohmann::ordered_json RandomnessAuditJson(const RandomnessAudit& audit);

// The same for a person, from the objects above.
std::string MechanismAuditTable(const nlohmann::ordered_json& json);
std::string RandomnessAuditTable(const nlohmann::ordered_json& json);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_REPORT_H_
