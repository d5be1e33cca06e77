// What `blink simulate` prints for a person.
#ifndef BLINK_TOOLS_SIMULATE_TEXT_REPORT_H_
#define BLINK_TOOLS_SIMULATE_TEXT_REPORT_H_

#include <string>

#include "tools/simulate/figures.h"

namespace blink {

std::string SimulationText(const SimulationFigures& figures);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_TEXT_REPORT_H_
