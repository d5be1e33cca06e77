#include "tests/testing/places.h"

namespace blink::testing {

std::string InSources(const std::string& name) { return std::string(BLINK_SOURCE_DIR "/") + name; }

std::string InBuild(const std::string& name) { return std::string(BLINK_BUILD_DIR "/") + name; }

std::string TorchParent() { return BLINK_TORCH_PARENT; }

}  // namespace blink::testing
