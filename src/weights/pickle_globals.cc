#include "weights/pickle_globals.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace lingbot {
namespace {

using Names = std::span<const std::string_view>;

bool Contains(Names list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

struct KnownGlobal {
  std::string_view path;
  GlobalKind kind;
};

constexpr KnownGlobal kKnown[] = {
    {"collections.OrderedDict", GlobalKind::kDict},
    {"builtins.dict", GlobalKind::kDict},
    {"__builtin__.dict", GlobalKind::kDict},
    {"collections.defaultdict", GlobalKind::kDefaultDict},
    {"torch.Size", GlobalKind::kSize},
    {"torch._utils._rebuild_tensor", GlobalKind::kTensor},
    {"torch._utils._rebuild_tensor_v2", GlobalKind::kTensor},
    {"torch._utils._rebuild_tensor_v3", GlobalKind::kTensorWithDType},
    {"torch._utils._rebuild_parameter", GlobalKind::kWrappedTensor},
    {"torch._utils._rebuild_parameter_with_state", GlobalKind::kWrappedTensor},
    {"torch._tensor._rebuild_from_type_v2", GlobalKind::kTypedTensor},
    {"torch._utils._rebuild_sparse_tensor", GlobalKind::kOtherTensor},
    {"torch._utils._rebuild_sparse_csr_tensor", GlobalKind::kOtherTensor},
    {"torch._utils._rebuild_nested_tensor", GlobalKind::kOtherTensor},
    {"torch._utils._rebuild_qtensor", GlobalKind::kOtherTensor},
    {"torch._utils._rebuild_meta_tensor_no_storage", GlobalKind::kOtherTensor},
    {"torch._utils._rebuild_wrapper_subclass", GlobalKind::kOtherTensor},
    {"torch._utils._rebuild_device_tensor_from_numpy", GlobalKind::kOtherTensor},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", GlobalKind::kOtherTensor},
};

// Data classes and constructors of data that real checkpoints carry beside their weights.
constexpr std::string_view kInertNames[] = {
    "_codecs.encode",
    "addict.addict.Dict",
    "argparse.Namespace",
    "collections.Counter",
    "collections.deque",
    "datetime.date",
    "datetime.datetime",
    "datetime.time",
    "datetime.timedelta",
    "datetime.timezone",
    "decimal.Decimal",
    "easydict.EasyDict",
    "fractions.Fraction",
    "ml_collections.config_dict.config_dict.ConfigDict",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy._core.numeric._frombuffer",
    "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy.dtype",
    "numpy.ndarray",
    "numpy.random._pickle.__bit_generator_ctor",
    "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__randomstate_ctor",
    "pathlib.Path",
    "pathlib.PosixPath",
    "pathlib.PurePath",
    "pathlib.PurePosixPath",
    "pathlib.PureWindowsPath",
    "pathlib.WindowsPath",
    "pathlib._local.PosixPath",
    "pathlib._local.WindowsPath",
    "pytorch_lightning.utilities.parsing.AttributeDict",
    "lightning.fabric.utilities.data.AttributeDict",
    "torch.Tensor",
    "torch.device",
    "torch.nn.parameter.Parameter",
    "torch.serialization._get_layout",
    "torch.storage._load_from_bytes",
    "torch.torch_version.TorchVersion",
    "types.SimpleNamespace",
    "uuid.UUID",
    "yacs.config.CfgNode",
};

constexpr std::string_view kInertBuiltins[] = {
    "bool",   "bytearray", "bytes", "complex", "float", "frozenset", "int",     "list",  "long",
    "object", "range",     "set",   "slice",   "str",   "tuple",     "unicode", "xrange"};

constexpr std::string_view kInertPackages[] = {"numpy.dtypes.", "omegaconf.", "torch.nn.modules.",
                                               "torch.optim."};

constexpr std::string_view kHostilePackages[] = {"__builtin__", "_pickle",   "_posixsubprocess",
                                                 "asyncio",     "bdb",       "builtins",
                                                 "cProfile",    "code",      "codeop",
                                                 "commands",    "ctypes",    "dill",
                                                 "cloudpickle", "ensurepip", "functools",
                                                 "http",        "importlib", "imp",
                                                 "joblib",      "marshal",   "multiprocessing",
                                                 "nt",          "operator",  "os",
                                                 "pdb",         "pickle",    "pip",
                                                 "pkgutil",     "platform",  "popen2",
                                                 "posix",       "posixpath", "profile",
                                                 "pty",         "requests",  "runpy",
                                                 "shutil",      "signal",    "site",
                                                 "smtplib",     "socket",    "ssl",
                                                 "subprocess",  "sys",       "tempfile",
                                                 "threading",   "timeit",    "trace",
                                                 "urllib",      "urllib2",   "webbrowser"};

constexpr std::pair<std::string_view, DType> kStorageTypes[] = {
    {"FloatStorage", DType::kF32},  {"BFloat16Storage", DType::kBF16}, {"HalfStorage", DType::kF16},
    {"DoubleStorage", DType::kF64}, {"LongStorage", DType::kI64},      {"IntStorage", DType::kI32},
    {"ShortStorage", DType::kI16},  {"CharStorage", DType::kI8},       {"ByteStorage", DType::kU8},
    {"BoolStorage", DType::kBool},  {"UntypedStorage", DType::kU8},
};

constexpr DType kTorchTypes[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI64,
                                 DType::kI32, DType::kI16,  DType::kI8,  DType::kU8,  DType::kBool};

bool IsStorageModule(std::string_view module) {
  return module == "torch" || module == "torch.storage" || module == "torch.cuda";
}

}  // namespace

GlobalKind ClassifyGlobal(std::string_view module, std::string_view name) {
  const std::string path = std::string(module) + "." + std::string(name);
  for (const KnownGlobal& known : kKnown) {
    if (known.path == path) return known.kind;
  }
  if (IsStorageModule(module) && name.ends_with("Storage")) return GlobalKind::kStorage;
  if (module == "torch" && TorchType(name)) return GlobalKind::kInert;
  if (Contains(kInertNames, path)) return GlobalKind::kInert;
  if ((module == "builtins" || module == "__builtin__") && Contains(kInertBuiltins, name)) {
    return GlobalKind::kInert;
  }
  for (const std::string_view package : kInertPackages) {
    if (path.starts_with(package)) return GlobalKind::kInert;
  }
  const std::string_view package = module.substr(0, module.find('.'));
  return Contains(kHostilePackages, package) ? GlobalKind::kHostile : GlobalKind::kForeign;
}

std::optional<DType> StorageType(std::string_view name) {
  for (const auto& [storage, dtype] : kStorageTypes) {
    if (storage == name) return dtype;
  }
  return std::nullopt;
}

std::optional<DType> TorchType(std::string_view name) {
  for (const DType dtype : kTorchTypes) {
    if (NameOf(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace lingbot
