// Characters as bytes of UTF-8.
#ifndef BLINK_TOOLS_DATASET_IMPORT_UTF8_H_
#define BLINK_TOOLS_DATASET_IMPORT_UTF8_H_

#include <cstdint>
#include <string>

namespace blink {

// Appends the character with this number, of which the lowest 21 bits count.
void AppendUtf8(uint32_t code, std::string& out);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_UTF8_H_
