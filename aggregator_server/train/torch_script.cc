#include "aggregator_server/train/torch_script.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/export.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/train/file_sink.h"

namespace blink {
namespace {

// The names "conv1.lin.weight" as a tree of modules, so that the parameters of the saved module keep them.
struct Tree {
  std::map<std::string, Tree> children;
  std::vector<std::pair<std::string, torch::Tensor>> parameters;
};

torch::jit::Module MakeModule(const Tree& tree, const std::string& name,
                              const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module module(c10::QualifiedName(name), unit);
  for (const auto& [child_name, child] : tree.children) {
    module.register_module(child_name, MakeModule(child, absl::StrCat(name, "_", child_name), unit));
  }
  for (const auto& [parameter_name, tensor] : tree.parameters) {
    module.register_parameter(parameter_name, tensor, /*is_buffer=*/false);
  }
  return module;
}

constexpr char kHead[] = R"(
def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Optional[Tensor] = None) -> Tensor:
    h = x
)";
// Every layer takes h, whatever it holds, to its own output. $ is the layer's number.
constexpr char kMlp[] = R"(
    h = torch.mm(h, self.lin$.weight.t()) + self.lin$.bias
)";
constexpr char kLinks[] = R"(
    n = x.size(0)
    source = edge_index[0]
    target = edge_index[1]
    w = torch.ones(source.size(0), dtype=x.dtype, device=source.device)
    if edge_weight is not None:
        w = edge_weight.to(w.dtype)
    degree = torch.zeros(n, dtype=w.dtype, device=w.device).index_add(0, target, w)
)";
constexpr char kGcnLinks[] = R"(
    scale = torch.clamp(degree + 1.0, min=1.0).rsqrt().unsqueeze(1)
)";
constexpr char kGcn[] = R"(
    h = scale * torch.mm(h, self.conv$.lin.weight.t())
    h = h.index_add(0, target, h.index_select(0, source) * w.unsqueeze(1))
    h = scale * h + self.conv$.bias
)";
constexpr char kSageLinks[] = R"(
    divisor = torch.clamp(degree, min=1.0).unsqueeze(1)
)";
constexpr char kSage[] = R"(
    near = torch.mm(h, self.conv$.lin_l.weight.t())
    near = torch.zeros_like(near).index_add(0, target, near.index_select(0, source) * w.unsqueeze(1)) / divisor
    h = torch.mm(h, self.conv$.lin_r.weight.t()) + near + self.conv$.lin_l.bias
)";
constexpr char kGatLinks[] = R"(
    own = torch.arange(n, dtype=source.dtype, device=source.device)
    source = torch.cat([source, own])
    target = torch.cat([target, own])
    w = torch.cat([w, torch.ones(n, dtype=w.dtype, device=w.device)])
)";
constexpr char kGat[] = R"(
    h = torch.mm(h, self.conv$.lin.weight.t())
    from_source = (h * self.conv$.att_src.view(1, -1)).sum(1)
    to_target = (h * self.conv$.att_dst.view(1, -1)).sum(1)
    e = torch.leaky_relu(from_source.index_select(0, source) + to_target.index_select(0, target), 0.2)
    top = torch.full([n], -1.0e30, dtype=e.dtype, device=e.device).scatter_reduce(0, target, e, "amax")
    a = w * torch.exp(e - top.index_select(0, target))
    sums = torch.zeros(n, dtype=a.dtype, device=a.device).index_add(0, target, a)
    a = w * a / sums.index_select(0, target)
    h = torch.zeros_like(h).index_add(0, target, h.index_select(0, source) * a.unsqueeze(1)) + self.conv$.bias
)";

std::string Source(Model model, int layers) {
  std::string source = kHead;
  const char* layer_source = kMlp;
  if (model != Model::kMlp) source += kLinks;
  if (model == Model::kGcn) {
    source += kGcnLinks;
    layer_source = kGcn;
  } else if (model == Model::kGraphSage) {
    source += kSageLinks;
    layer_source = kSage;
  } else if (model == Model::kGat) {
    source += kGatLinks;
    layer_source = kGat;
  }
  for (int layer = 1; layer <= layers; ++layer) {
    source += absl::StrReplaceAll(layer_source, {{"$", absl::StrCat(layer)}});
    if (layer < layers) source += "    h = torch.relu(h)\n";
  }
  return source + "    return h\n";
}

}  // namespace

std::string SerializeTorchScript(Model model, int layers,
                                 const std::vector<std::pair<std::string, torch::Tensor>>& state) {
  Tree tree;
  for (const auto& [name, tensor] : state) {
    std::vector<std::string> path = absl::StrSplit(name, '.');
    const std::string last = path.back();
    path.pop_back();
    Tree* at = &tree;
    for (const std::string& part : path) at = &at->children[part];
    at->parameters.emplace_back(last, tensor);
  }
  // A unit of its own: names are then the same in every save, and so are the bytes.
  torch::jit::Module module = MakeModule(tree, "__torch__.Blink", std::make_shared<torch::jit::CompilationUnit>());
  module.define(Source(model, layers));
  FileSink file;
  torch::jit::ExportModule(module, [&](const void* data, size_t size) { return file.Write(data, size); });
  return file.Take();
}

}  // namespace blink
