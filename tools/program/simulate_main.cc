// blink-simulate: what `blink simulate` and `blink audit links` become. It alone of the two loads LibTorch.
#include "tools/link_audit/perform.h"
#include "tools/program/program.h"
#include "tools/simulate/perform.h"

int main(int argc, char** argv) {
  return blink::BlinkMain(argc, argv, {.simulate = blink::PerformSimulation, .audit_links = blink::PerformLinkAudit});
}
