// What `blink simulate` prints for a person.
#ifndef BLINK_TOOLS_SIMULATE_TEXT_REPORT_H_
#define BLINK_TOOLS_SIMULATE_TEXT_REPORT_H_

#include <cstddef>
#include <string>

#include "tools/simulate/figures.h"

namespace blink {

// `columns`: of the terminal. What a search tried is folded to it; other lines are as long as they are.
std::string SimulationText(const SimulationFigures& figures, size_t columns);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_TEXT_REPORT_H_
