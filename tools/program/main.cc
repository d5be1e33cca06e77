// blink: the operator's and the researcher's command.
#include "tools/program/helper_program.h"
#include "tools/program/program.h"

int main(int argc, char** argv) {
  const auto become = [argv](const auto&) { return blink::BecomeHelper("blink-simulate", argv); };
  return blink::BlinkMain(argc, argv, {.simulate = become, .audit_links = become});
}
