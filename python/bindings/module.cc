// blink._core: the C++ libraries as the package's own Python sees them. Users call python/blink.
#include "python/bindings/arguments.h"

NB_MODULE(_core, module) {
  module.attr("__version__") = BLINK_VERSION;
  blink::python::BindReports(module);
  blink::python::BindLinks(module);
  blink::python::BindEstimate(module);
  blink::python::BindAudit(module);
}
