// blink: the operator's and the researcher's command.
#include "tools/program/helper_program.h"
#include "tools/program/program.h"

int main(int argc, char** argv) {
  return blink::BlinkMain(
      argc, argv, [argv](const blink::SimulateRequest&) { return blink::BecomeHelper("blink-simulate", argv); });
}
