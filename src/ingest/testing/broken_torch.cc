#include "absl/strings/str_cat.h"
#include "ingest/testing/broken.h"

namespace motley::ingest::testing {
namespace {

constexpr size_t kMostValues = 1 << 21;  // of a pickle

BrokenInput bent(std::string what, std::string site, std::function<void(TorchDraft&)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            TorchDraft draft = TorchDraft::small();
            bend(draft);
            return Files{{"model.pt", draft.text()}};
          },
          "",
          {}};
}

BrokenInput first(std::string what, std::string site, std::function<void(TorchDraftTensor&)> bend) {
  return bent(std::move(what), std::move(site),
              [bend = std::move(bend)](TorchDraft& draft) { bend(draft.tensors.front()); });
}

BrokenInput other(std::string what, std::string site, std::string name, std::string opcodes) {
  return bent(std::move(what), std::move(site),
              [item = std::pair(std::move(name), std::move(opcodes))](TorchDraft& draft) { draft.others = {item}; });
}

// The whole pickle, given by its opcodes.
BrokenInput pickled(std::string what, std::string site, std::function<std::string()> opcodes) {
  return {std::move(what),
          std::move(site),
          [opcodes = std::move(opcodes)] {
            ZipDraft draft = TorchDraft::small().zip();
            draft.entry("model/data.pkl").data = pickle_of(opcodes());
            return Files{{"model.pt", draft.text()}};
          },
          "",
          {}};
}
BrokenInput pickled(std::string what, std::string site, std::string opcodes) {
  return pickled(std::move(what), std::move(site), [opcodes = std::move(opcodes)] { return opcodes; });
}

std::string times(size_t count, std::string_view text) {
  std::string result;
  result.reserve(count * text.size());
  for (size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::string many_memos() {
  std::string opcodes = "N";
  for (uint32_t i = 0; i <= kMostValues; ++i) opcodes += absl::StrCat("r", raw(i));
  return opcodes;
}

// Dicts of eight members each of which is the same dict, eight deep: a pickle of 700 bytes with 16 million values.
std::string dicts_in_dicts() {
  std::string opcodes = absl::StrCat("}(", pickle_text("0"), std::string("}q\0", 3));
  for (char depth = 0; depth < 8; ++depth) {
    opcodes += absl::StrCat(pickle_text(std::string(1, static_cast<char>('1' + depth))), "}(");
    for (char key = 'a'; key < 'i'; ++key)
      opcodes += absl::StrCat(pickle_text(std::string(1, key)), "h", std::string(1, depth));
    opcodes += absl::StrCat("uq", std::string(1, static_cast<char>(depth + 1)));
  }
  return opcodes + "u";
}

// A list that holds itself.
const std::string kRing = std::string("]q\0h\0a", 6);

}  // namespace

std::vector<BrokenInput> broken_pickle() {
  const std::string system = pickle_call(pickle_global("os", "system"), pickle_text("true"));
  return {
      pickled("a call of os.system", "pickle.global", system),
      pickled("a call of a number", "pickle.call", pickle_call(pickle_int(7), "")),
      pickled("an OrderedDict made of arguments", "pickle.ordered_dict",
              pickle_call(pickle_global("collections", "OrderedDict"), "]")),
      pickled("attributes of a list", "pickle.build", "]}b"),
      pickled("an opcode that makes classes", "pickle.opcode", "(ios\nsystem\n"),
      pickled("a protocol of the future", "pickle.protocol", "\x80\x09N"),
      pickled("a mark that is missing", "pickle.mark", "]e"),
      pickled("a stack that is empty", "pickle.underflow", "Ns"),
      pickled("a memo that was never written", "pickle.memo_index", "h\x05"),
      pickled("pairs put into a list", "pickle.dict", "]NNs"),
      pickled("items put into a number", "pickle.list", pickle_int(7) + "Na"),
      pickled("a function whose name is a number", "pickle.global_name", pickle_text("os") + pickle_int(7) + "\x93"),
      pickled("a function with a name of a thousand letters", "pickle.long_name",
              pickle_text("os") + pickle_text(std::string(1000, 'x')) + "\x93"),
      pickled("a module with a name of a thousand letters", "pickle.line", pickle_global(std::string(1000, 'x'), "y")),
      pickled("two values at the end", "pickle.leftover", "NN"),
      pickled("two million values", "pickle.values", [] { return times(kMostValues + 1, "N"); }),
      pickled("two million times the same value", "pickle.stack",
              [] { return std::string("Nq\0", 3) + times(kMostValues, std::string_view("h\0", 2)); }),
      pickled("two million marks", "pickle.marks", [] { return times(kMostValues + 1, "("); }),
      pickled("two million memorised values", "pickle.memo", many_memos),
  };
}

// HQQ's own files hold numbers of a module as plain values among the tensors.
static BrokenInput hqq_option_in_words() {
  return {"a number of HQQ's that is a word",
          "hqq.attribute",
          [] {
            TorchDraft draft = TorchDraft::of("tiny/untied-hf");
            const std::string module = "model.layers.0.mlp.up_proj";
            for (TorchDraftTensor& tensor : draft.tensors)
              if (tensor.name == module + ".weight") tensor.name = module + ".W_q";
            draft.others = {{module + ".nbits", pickle_text("four")}};
            Files files = read_model("tiny/untied-hf");
            files.erase("model.safetensors");
            files["pytorch_model.bin"] = draft.text();
            return files;
          },
          "",
          {}};
}

std::vector<BrokenInput> broken_torch() {
  std::string deep;
  for (int depth = 0; depth < 40; ++depth) deep += absl::StrCat("}", pickle_text("x"));
  deep += absl::StrCat("N", times(40, "s"));
  const std::string parameter = pickle_global("torch._utils", "_rebuild_parameter");
  return {
      hqq_option_in_words(),
      first("a negative offset", "torch.number", [](auto& t) { t.offset = -1; }),
      first("nine dimensions", "torch.dimensions", [](auto& t) { t.shape.assign(9, 1); }),
      first("fewer strides than dimensions", "torch.stride_count", [](auto& t) { t.strides.pop_back(); }),
      first("columns before rows", "torch.strides",
            [](auto& t) {
              t.strides = {1, 2};
            }),
      first("no dtype", "torch.dtype", [](auto& t) { t.type = "UntypedStorage"; }),
      first("a dimension of zero", "torch.zero_dimension",
            [](auto& t) {
              t.shape = {0, 3};
            }),
      first("a product of 2^93", "torch.product",
            [](auto& t) {
              t.shape = {INT32_MAX, INT32_MAX, INT32_MAX};
              t.strides = {1, 1, 1};
            }),
      first("an end past the storage", "torch.storage_range", [](auto& t) { t.offset = 1; }),
      first("a storage of negative size", "torch.storage_id", [](auto& t) { t.elements = -1; }),
      first("a storage of quantised numbers", "torch.storage_type", [](auto& t) { t.type = "QInt8Storage"; }),
      first("a view of another storage", "torch.storage_view",
            [](auto& t) {
              t.storage_view = pickle_ints({1, 2});
            }),
      bent("a storage of 2^63 bytes", "torch.storage_product",
           [](TorchDraft& draft) {
             const std::string size = std::string("\x8a\x08") + raw(INT64_MAX);
             draft.tensors.front().storage_view = "N";
             draft.others = {{"b", replaced(draft.tensors.front().opcodes(), pickle_int(6), size)}};
           }),
      other("a tensor of too few arguments", "torch.arguments", "b",
            pickle_call(pickle_global("torch._utils", "_rebuild_tensor_v2"), "N")),
      other("a parameter made of a number", "torch.parameter", "b", pickle_call(parameter, pickle_int(7))),
      other("a storage that is no tensor", "torch.attribute", "b", ")Q"),
      other("one key twice", "torch.key_twice", "b", absl::StrCat("N", pickle_text("b"), "N")),
      other("a key without a letter", "torch.key", "", "N"),
      other("dicts forty deep", "torch.depth", "b", deep),
      other("a text of 9 MB, twice", "torch.attribute_budget", "b",
            pickle_text(std::string(9 << 20, 'x')) + "q\x07" + pickle_text("c") + "h\x07"),
      pickled("dicts in dicts in dicts", "torch.visits", dicts_in_dicts),
      pickled("a list at the root", "torch.root", kRing),
  };
}

std::vector<BrokenInput> broken_torch_legacy() {
  const auto legacy = [](std::string what, std::string site, std::function<void(std::string&)> bend) {
    return BrokenInput{std::move(what),
                       std::move(site),
                       [bend = std::move(bend)] {
                         std::string text = TorchDraft::small().legacy_text();
                         bend(text);
                         return Files{{"model.pth", text}};
                       },
                       "",
                       {}};
  };
  const auto instead = [](std::string from, std::string to) {
    return [from = std::move(from), to = std::move(to)](std::string& text) { text = replaced(text, from, to); };
  };
  const std::string key = absl::StrCat("](", pickle_text("0"), "e");
  return {
      legacy("an old file cut in a pickle", "torch.cut_legacy", [](std::string& text) { text.resize(60); }),
      legacy("an old file of another layout", "torch.legacy_version",
             instead(pickle_of(pickle_int(1001)), pickle_of(pickle_int(1000)))),
      legacy("an old file of a big-endian machine", "torch.legacy_byte_order",
             instead(pickle_text("little_endian") + "\x88", pickle_text("little_endian") + "\x89")),
      legacy("an old file cut in a storage", "torch.legacy_cut",
             [](std::string& text) { text.resize(text.size() - 1); }),
      legacy("an old file with a storage of no tensor", "torch.legacy_key",
             instead(key, absl::StrCat("](", pickle_text("1"), "e"))),
      legacy("an old file with a storage twice", "torch.legacy_key_twice",
             [=](std::string& text) {
               text = replaced(text, key, absl::StrCat("](", pickle_text("0"), pickle_text("0"), "e"));
               text += text.substr(text.size() - 32);
             }),
      legacy("an old file with bytes behind it", "torch.legacy_trailing", [](std::string& text) { text += "x"; }),
  };
}

}  // namespace motley::ingest::testing
