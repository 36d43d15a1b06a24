#include "ingest/torch_state.h"

#include <algorithm>
#include <array>

#include "base/checked.h"

namespace motley::ingest {
namespace {

using Ref = Pickle::Ref;
using tensor::DType;

constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter", kSize = "torch.Size",
                           kRebuildV3 = "torch._utils._rebuild_tensor_v3";
constexpr std::array<std::string_view, 5> kCallables = {
    "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2", kRebuildV3, kRebuildParameter, kSize};

constexpr size_t kDeepest = 32;                       // dicts in dicts; published: 2
constexpr size_t kMostVisits = 1 << 20;               // values met on the way, each time anew
constexpr size_t kLongestPath = 1024;                 // of a dotted name, as for tensors
constexpr size_t kMostDimensions = 8;                 // largest published: 5
constexpr uint64_t kAttributeBudgetBytes = 16 << 20;  // with their names; published: some bytes a module
constexpr uint64_t kAttributeOverheadBytes = sizeof(Json);

struct StorageType {
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr std::array kStorageTypes = {
    StorageType{"torch.FloatStorage", DType::kF32},     StorageType{"torch.HalfStorage", DType::kF16},
    StorageType{"torch.BFloat16Storage", DType::kBF16}, StorageType{"torch.DoubleStorage", DType::kF64},
    StorageType{"torch.ByteStorage", DType::kU8},       StorageType{"torch.CharStorage", DType::kI8},
    StorageType{"torch.ShortStorage", DType::kI16},     StorageType{"torch.IntStorage", DType::kI32},
    StorageType{"torch.LongStorage", DType::kI64},      StorageType{"torch.BoolStorage", DType::kBool},
    StorageType{"torch.UntypedStorage", std::nullopt},  StorageType{"torch.storage.UntypedStorage", std::nullopt}};

// Types that have no storage type of their own (torch._utils._rebuild_tensor_v3).
struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr std::array kNamedTypes = {
    NamedType{"torch.uint16", DType::kU16},
    NamedType{"torch.uint32", DType::kU32},
    NamedType{"torch.uint64", DType::kU64},
    NamedType{"torch.float8_e4m3fn", DType::kF8E4M3},
    NamedType{"torch.float8_e5m2", DType::kF8E5M2},
    NamedType{"torch.float8_e8m0fnu", DType::kF8E8M0},
    NamedType{"torch.float32", DType::kF32},
    NamedType{"torch.float16", DType::kF16},
    NamedType{"torch.bfloat16", DType::kBF16},
    NamedType{"torch.uint8", DType::kU8},
    NamedType{"torch.int8", DType::kI8},
    NamedType{"torch.int32", DType::kI32},
};

// Item `index` of a tuple, as a T; nullptr when there is none.
template <typename T>
const T* item(const Pickle& pickle, const Pickle::Sequence& tuple, size_t index) {
  return index < tuple.items.size() ? pickle.get<T>(tuple.items[index]) : nullptr;
}

// Where a tensor's fields are checked.
struct Context {
  const Pickle& pickle;
  const Storages& storages;
  std::string where;  // "FILE tensor NAME"
};

StatusOr<uint64_t> read_count(const Context& context, const Pickle::Sequence& tuple, size_t index) {
  const auto* number = item<int64_t>(context.pickle, tuple, index);
  if (number == nullptr || *number < 0)
    return reject({.site = "torch.number",
                   .where = context.where,
                   .expected = "offsets, sizes and strides that are whole numbers from 0",
                   .got = number == nullptr ? "something else" : fmt::format("{}", *number)});
  return static_cast<uint64_t>(*number);
}

StatusOr<std::vector<uint64_t>> read_counts(const Context& context, const Pickle::Sequence& tuple, size_t index) {
  const auto* list = item<Pickle::Sequence>(context.pickle, tuple, index);
  if (list == nullptr || list->items.size() > kMostDimensions)
    return reject({.site = "torch.dimensions",
                   .where = context.where,
                   .expected = fmt::format("sizes and strides of at most {} dimensions", kMostDimensions),
                   .got = list == nullptr ? "something else" : fmt::format("{}", list->items.size())});
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < list->items.size(); ++i) {
    TRY(const uint64_t count, read_count(context, *list, i));
    counts.push_back(count);
  }
  return counts;
}

// Row-major, as every device and packing reads it. The stride of a dimension of one element is never used.
Status check_strides(const std::vector<uint64_t>& shape, const std::vector<uint64_t>& strides,
                     const std::string& where) {
  REJECT_IF(strides.size() != shape.size(), "torch.stride_count", where, fmt::format("{} strides", shape.size()),
            strides.size());
  uint64_t expected = 1;
  for (size_t i = std::min(shape.size(), strides.size()); i-- > 0;) {
    REJECT_IF(shape[i] != 1 && strides[i] != expected, "torch.strides", where,
              fmt::format("a row-major tensor: stride {} in dimension {}", expected, i), strides[i]);
    expected *= shape[i];
  }
  return absl::OkStatus();
}

StatusOr<DType> dtype_of(const Context& context, const StorageId& id, const Pickle::Sequence& arguments,
                         std::string_view function) {
  constexpr size_t kDtypeArgument = 6;
  if (id.dtype && function != kRebuildV3) return *id.dtype;
  const auto* global = item<Pickle::Global>(context.pickle, arguments, kDtypeArgument);
  const auto row = std::find_if(kNamedTypes.begin(), kNamedTypes.end(),
                                [&](const NamedType& type) { return global != nullptr && type.name == global->name; });
  if (row == kNamedTypes.end())
    return reject({.site = "torch.dtype",
                   .where = context.where,
                   .expected = "a dtype that motley knows",
                   .got = global == nullptr ? "none" : global->name});
  return row->dtype;
}

// A tensor over `storage`, from the arguments (storage, offset, size, stride, …) of torch's functions that make one.
StatusOr<Tensor> rebuild(const Context& context, const Pickle::Sequence& arguments, std::string_view function) {
  REJECT_IF(arguments.items.size() < 4, "torch.arguments", context.where, "a storage, an offset, sizes and strides",
            fmt::format("{} arguments", arguments.items.size()));
  if (arguments.items.size() < 4) return absl::InternalError("too few arguments");
  TRY(const StorageId id, read_storage_id(context.pickle, arguments.items[0], context.where));
  TRY(const DType dtype, dtype_of(context, id, arguments, function));
  TRY(const uint64_t offset, read_count(context, arguments, 1));
  Tensor tensor;
  tensor.type = dtype;
  TRY(tensor.shape, read_counts(context, arguments, 2));
  TRY(const std::vector<uint64_t> strides, read_counts(context, arguments, 3));
  REJECT_IF(std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end(), "torch.zero_dimension",
            context.where, "no dimension of zero", "one");
  const auto elements = checked_product(tensor.shape);
  const auto end = elements ? checked_add(offset, *elements) : std::nullopt;
  const auto end_bytes = end ? checked_multiply(*end, tensor::size_bytes(dtype)) : std::nullopt;
  REJECT_IF(!end_bytes, "torch.product", context.where, "a size below 2^63 bytes", "a larger one");
  TRY(check_strides(tensor.shape, strides, context.where));
  const auto storage = context.storages.find(id.key);
  if (storage == context.storages.end())
    return reject({.site = "torch.storage_missing",
                   .where = context.where,
                   .expected = fmt::format("the storage {}", id.key),
                   .got = "no such entry"});
  TRY(const uint64_t promised_bytes, storage_bytes(id, context.where));
  REJECT_IF(storage->second.size_bytes != promised_bytes, "torch.storage_size", context.where,
            fmt::format("a storage of {} bytes", promised_bytes), storage->second.size_bytes);
  REJECT_IF(end_bytes.value_or(0) > storage->second.size_bytes, "torch.storage_range", context.where,
            fmt::format("an end inside the {} bytes of its storage", storage->second.size_bytes),
            end_bytes.value_or(0));
  const uint64_t begin_bytes = offset * tensor::size_bytes(dtype);
  tensor.range = {storage->second.offset + begin_bytes, end_bytes.value_or(0) - begin_bytes};
  return tensor;
}

// Walks over nested dicts. A pickle can hold one dict in many places, and itself: steps and depth are bounded.
class Flattener {
 public:
  Flattener(const Pickle& pickle, const Storages& storages, const std::shared_ptr<const ByteSource>& source,
            std::vector<Tensor>& tensors, Attributes& attributes)
      : pickle_(pickle), storages_(storages), source_(source), tensors_(tensors), attributes_(attributes) {}

  Status visit_dict(const Pickle::Dict& dict, const std::string& path, size_t depth) {
    REJECT_IF(depth > kDeepest, "torch.depth", where(path), fmt::format("dicts nested at most {} deep", kDeepest),
              "deeper");
    if (depth > 2 * kDeepest) return absl::InternalError("a dict that holds itself");
    for (const auto& [key_ref, value] : dict.items) {
      TRY(const std::string key, key_text(key_ref, path));
      TRY(visit(value, path.empty() ? key : fmt::format("{}.{}", path, key), depth));
    }
    return absl::OkStatus();
  }

 private:
  std::string where(const std::string& path) const { return fmt::format("{} tensor {}", source_->name(), path); }

  StatusOr<std::string> key_text(Ref ref, const std::string& path) const {
    if (const auto* number = pickle_.get<int64_t>(ref)) return fmt::format("{}", *number);
    const auto* text = pickle_.get<std::string>(ref);
    if (text == nullptr || text->empty() || text->size() + path.size() > kLongestPath)
      return reject({.site = "torch.key",
                     .where = where(path),
                     .expected = fmt::format("keys that are names, at most {} characters in all", kLongestPath),
                     .got = "something else"});
    return *text;
  }

  Status count_visit(const std::string& path) {
    REJECT_IF(++visits_ > kMostVisits, "torch.visits", where(path), fmt::format("at most {} values", kMostVisits),
              "more");
    return visits_ > 2 * kMostVisits ? absl::InternalError("too many values") : absl::OkStatus();
  }

  Status visit(Ref ref, const std::string& path, size_t depth) {
    TRY(count_visit(path));
    if (const auto* dict = pickle_.get<Pickle::Dict>(ref)) return visit_dict(*dict, path, depth + 1);
    const auto* call = pickle_.get<Pickle::Call>(ref);
    if (call != nullptr && call->function != kSize) return add_tensor(*call, path);
    TRY(Json value, to_json(ref, path, 0));
    REJECT_IF(!attributes_.emplace(path, std::move(value)).second, "torch.key_twice", where(path), "each key once",
              "it again");
    return absl::OkStatus();
  }

  Status add_tensor(const Pickle::Call& call, const std::string& path) {
    const auto* arguments = pickle_.get<Pickle::Sequence>(call.arguments);
    std::string_view function = call.function;
    if (function == kRebuildParameter) {
      const auto* inner = arguments == nullptr ? nullptr : item<Pickle::Call>(pickle_, *arguments, 0);
      arguments = inner == nullptr ? nullptr : pickle_.get<Pickle::Sequence>(inner->arguments);
      if (arguments == nullptr || inner->function == kRebuildParameter || inner->function == kSize)
        return reject({.site = "torch.parameter",
                       .where = where(path),
                       .expected = "a parameter made of a tensor",
                       .got = "something else"});
      function = inner->function;
    }
    if (arguments == nullptr) return absl::InternalError("a call without arguments");
    TRY(Tensor tensor, rebuild({pickle_, storages_, where(path)}, *arguments, function));
    tensor.name = path;
    tensor.source = source_;
    tensors_.push_back(std::move(tensor));
    return absl::OkStatus();
  }

  Status spend(uint64_t size_bytes, const std::string& path) {
    attribute_bytes_ += kAttributeOverheadBytes + size_bytes;
    REJECT_IF(attribute_bytes_ > kAttributeBudgetBytes, "torch.attribute_budget", where(path),
              fmt::format("at most {} bytes beside the tensors", kAttributeBudgetBytes), "more");
    return attribute_bytes_ > 2 * kAttributeBudgetBytes ? absl::InternalError("too much") : absl::OkStatus();
  }

  StatusOr<Json> to_json(Ref ref, const std::string& path, size_t depth) {
    const auto* text = pickle_.get<std::string>(ref);
    TRY(spend(path.size() + (text == nullptr ? 0 : text->size()), path));
    if (text != nullptr) return Json(*text);
    if (const auto* flag = pickle_.get<bool>(ref)) return Json(*flag);
    if (const auto* number = pickle_.get<int64_t>(ref)) return Json(*number);
    if (const auto* number = pickle_.get<double>(ref)) return Json(*number);
    if (const auto* global = pickle_.get<Pickle::Global>(ref)) return Json(global->name);
    if (pickle_.get<Pickle::None>(ref) != nullptr) return Json();
    if (const auto* list = pickle_.get<Pickle::Sequence>(ref); list != nullptr && depth < kDeepest)
      return list_to_json(*list, path, depth);
    const auto* size = pickle_.get<Pickle::Call>(ref);
    const auto* arguments = size == nullptr ? nullptr : pickle_.get<Pickle::Sequence>(size->arguments);
    if (size != nullptr && size->function == kSize && arguments != nullptr && arguments->items.size() == 1 &&
        depth < kDeepest)
      return to_json(arguments->items.front(), path, depth + 1);
    return reject({.site = "torch.attribute",
                   .where = where(path),
                   .expected = "a tensor, a dict, or numbers, texts and lists of them",
                   .got = "something else"});
  }

  StatusOr<Json> list_to_json(const Pickle::Sequence& list, const std::string& path, size_t depth) {
    Json::Array result;
    for (const Ref ref : list.items) {
      TRY(Json value, to_json(ref, path, depth + 1));
      result.push_back(std::move(value));
    }
    return Json(std::move(result));
  }

  const Pickle& pickle_;
  const Storages& storages_;
  const std::shared_ptr<const ByteSource>& source_;
  std::vector<Tensor>& tensors_;
  Attributes& attributes_;
  size_t visits_ = 0;
  uint64_t attribute_bytes_ = 0;
};

}  // namespace

std::span<const std::string_view> torch_callables() { return kCallables; }

StatusOr<StorageId> read_storage_id(const Pickle& pickle, Ref ref, const std::string& where) {
  constexpr size_t kViewItem = 5;  // only in files of before 1.6
  const auto* persistent = pickle.get<Pickle::Persistent>(ref);
  const auto* tuple = persistent == nullptr ? nullptr : pickle.get<Pickle::Sequence>(persistent->id);
  const auto* type = tuple == nullptr ? nullptr : item<Pickle::Global>(pickle, *tuple, 1);
  const auto* key = tuple == nullptr ? nullptr : item<std::string>(pickle, *tuple, 2);
  const auto* elements = tuple == nullptr ? nullptr : item<int64_t>(pickle, *tuple, 4);
  if (type == nullptr || key == nullptr || elements == nullptr || *elements < 0)
    return reject({.site = "torch.storage_id",
                   .where = where,
                   .expected = "a storage by its type, key and size",
                   .got = "something else"});
  const auto row = std::find_if(kStorageTypes.begin(), kStorageTypes.end(),
                                [&](const StorageType& known) { return known.name == type->name; });
  if (row == kStorageTypes.end())
    return reject(
        {.site = "torch.storage_type", .where = where, .expected = "a storage of plain numbers", .got = type->name});
  REJECT_IF(tuple->items.size() > kViewItem && item<Pickle::None>(pickle, *tuple, kViewItem) == nullptr,
            "torch.storage_view", where, "a storage of its own", "a view of another");
  return StorageId{*key, row->dtype, static_cast<uint64_t>(*elements)};
}

StatusOr<uint64_t> storage_bytes(const StorageId& id, const std::string& where) {
  const auto bytes = checked_multiply(id.elements, id.dtype ? tensor::size_bytes(*id.dtype) : 1);
  REJECT_IF(!bytes, "torch.storage_product", where, "a storage below 2^63 bytes", "a larger one");
  return bytes.value_or(kMaxSize);
}

Status flatten_state(const Pickle& pickle, const Storages& storages, const std::shared_ptr<const ByteSource>& source,
                     std::vector<Tensor>& tensors, Attributes& attributes) {
  const auto* root = pickle.get<Pickle::Dict>(pickle.root);
  if (root == nullptr)
    return reject(
        {.site = "torch.root", .where = source->name(), .expected = "a dict of tensors", .got = "something else"});
  return Flattener(pickle, storages, source, tensors, attributes).visit_dict(*root, "", 0);
}

}  // namespace motley::ingest
