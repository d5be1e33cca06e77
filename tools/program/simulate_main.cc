// blink-simulate: what `blink simulate` becomes. It alone of the two loads LibTorch.
#include "tools/program/program.h"
#include "tools/simulate/perform.h"

int main(int argc, char** argv) { return blink::BlinkMain(argc, argv, blink::PerformSimulation); }
