// What is in a result folder, for --help.
#ifndef BLINK_COMMON_CLI_RESULT_FILES_H_
#define BLINK_COMMON_CLI_RESULT_FILES_H_

#include <string>

namespace blink {

// A line for each of kArtifacts (common/wire/artifacts.h).
inline std::string ResultFilesText() {
  return "Files of a result (docs/OPERATIONS.md, \"What a result holds\"):\n"
         "  metrics.json      all figures: privacy, reports, estimate, training, classes\n"
         "  predictions.csv   class and confidence of every node\n"
         "  curves.csv        losses of every epoch; no line of a model without epochs\n"
         "  links.csv         the links that the model was trained on, with their weights\n"
         "  links.npz         the same, for scipy.sparse.load_npz\n"
         "  degrees.csv       how many links every node is expected to have\n"
         "  plausibility.csv  the checks of every report\n"
         "  groups.csv        of group-degrees: which group every node is of, for a round that follows\n"
         "  model.pt          the parameters, for torch.load\n"
         "  model.ts          the model, for torch.jit.load\n";
}

}  // namespace blink

#endif  // BLINK_COMMON_CLI_RESULT_FILES_H_
