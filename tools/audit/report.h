// What `blink audit` prints.
#ifndef BLINK_TOOLS_AUDIT_REPORT_H_
#define BLINK_TOOLS_AUDIT_REPORT_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/audit/mechanism.h"
#include "tools/audit/randomness.h"

namespace blink {

// What audits have in common: `epsilon_bounds` and `checks` of their JSON, and the bounds in the table for a person.
void AddBoundsAndChecks(const std::vector<EpsilonBound>& bounds, const std::vector<AuditCheck>& checks,
                        nlohmann::ordered_json& json);
std::string BoundsTable(const std::vector<EpsilonBound>& bounds);
const char* VerdictText(bool violated);

// For programs.
nlohmann::ordered_json MechanismAuditJson(const MechanismAudit& audit);
nlohmann::ordered_json RandomnessAuditJson(const RandomnessAudit& audit);

// The same figures for a person.
std::string MechanismAuditTable(const MechanismAudit& audit);
std::string RandomnessAuditTable(const RandomnessAudit& audit);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_REPORT_H_
