#include "weights/torch_pt.h"

#include <gtest/gtest.h>

#include <functional>

#include "weights/test_support.h"
#include "weights/torch_test_files.h"

namespace lingbot {
namespace {

using namespace std::string_literals;
using Spec = PickleWriter::TensorSpec;

// A source that owns the bytes it reads.
class MemorySource {
 public:
  explicit MemorySource(std::string file)
      : file_(std::move(file)),
        source_("a file", ParseTorchPt(AsBytes(file_), "a file"), AsBytes(file_)) {}
  const TensorSource* operator->() const { return &source_; }
  const TensorSource& operator*() const { return source_; }

 private:
  std::string file_;
  StoredTensorSource source_;
};

std::vector<float> Ramp(int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// A dictionary with one tensor "w" of [2, 3] over a ramp of six floats, and whatever `more` adds to
// it.
std::string WithExtra(const std::string& more) {
  PickleWriter pickle;
  pickle.Op("}(").Text("w").Tensor({"FloatStorage", "0", 6, 0, {2, 3}, {3, 1}});
  return TorchZip(pickle.Op(more).Op("u").Stop(), {Raw(Ramp(6))}).Write();
}

// Instructions of a value under the key "x", without the header of a pickle.
std::string Extra(const std::function<void(PickleWriter&)>& value) {
  PickleWriter pickle;
  pickle.Text("x");
  value(pickle);
  const std::string text = pickle.Stop();
  return text.substr(2, text.size() - 3);
}

std::string OneTensor(const Spec& spec, const std::string& storage) {
  PickleWriter pickle;
  pickle.Op("}(").Text("w").Tensor(spec).Op("u");
  return TorchZip(pickle.Stop(), {storage}).Write();
}

void ExpectRefused(ErrorCode code, const std::string& part, const std::string& file) {
  ExpectError(code, {"a file", part}, [&] { ParseTorchPt(AsBytes(file), "a file"); });
}

TEST(TorchPt, ReadsEveryType) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"FloatStorage", Raw<float>({1, -2})},
      {"BFloat16Storage", Raw<uint16_t>({0x3F80, 0xC000})},
      {"HalfStorage", Raw<uint16_t>({0x3C00, 0xC000})},
      {"DoubleStorage", Raw<double>({1, -2})},
      {"LongStorage", Raw<int64_t>({1, -2})},
      {"IntStorage", Raw<int32_t>({1, -2})},
      {"ShortStorage", Raw<int16_t>({1, -2})},
      {"CharStorage", Raw<int8_t>({1, -2})},
      {"ByteStorage", Raw<uint8_t>({1, 254})},
      {"BoolStorage", Raw<uint8_t>({1, 0})}};
  const DType dtypes[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI64,
                          DType::kI32, DType::kI16,  DType::kI8,  DType::kU8,  DType::kBool};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].first);
    const MemorySource source(OneTensor({cases[i].first, "0", 2, 0, {2}, {1}}, cases[i].second));
    EXPECT_EQ(source->Find("w").dtype, dtypes[i]);
    const float last = dtypes[i] == DType::kU8 ? 254.0f : dtypes[i] == DType::kBool ? 0.0f : -2.0f;
    EXPECT_EQ(Values(*source, "w"), (std::vector<float>{1, last}));
  }
}

TEST(TorchPt, HonoursStridesOffsetsAndSharedStorages) {
  PickleWriter pickle;
  pickle.Op("}(");
  const auto add = [&](const std::string& name, int64_t offset, std::vector<int64_t> size,
                       std::vector<int64_t> stride) {
    pickle.Text(name).Tensor({"FloatStorage", "0", 24, offset, std::move(size), std::move(stride)});
  };
  add("transposed", 0, {3, 2}, {1, 3});
  add("channels_last", 0, {1, 2, 2, 3}, {12, 1, 6, 2});
  add("stepped", 4, {3}, {7});
  add("expanded", 2, {3, 2}, {0, 1});
  add("scalar", 23, {}, {});
  add("empty", 24, {0, 3}, {3, 1});
  add("window", 8, {2, 2}, {4, 1});
  const MemorySource source(TorchZip(pickle.Op("u").Stop(), {Raw(Ramp(24))}).Write());
  EXPECT_EQ(Values(*source, "transposed"), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(Values(*source, "channels_last"),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(Values(*source, "stepped"), (std::vector<float>{4, 11, 18}));
  EXPECT_EQ(Values(*source, "expanded"), (std::vector<float>{2, 3, 2, 3, 2, 3}));
  EXPECT_EQ(Values(*source, "scalar"), (std::vector<float>{23}));
  EXPECT_EQ(Values(*source, "empty"), (std::vector<float>{}));
  EXPECT_EQ(Values(*source, "window"), (std::vector<float>{8, 9, 12, 13}));
  EXPECT_EQ(source->Find("empty").shape, (Shape{0, 3}));
}

TEST(TorchPt, ReadsLongStridedRows) {
  constexpr int kCount = 1500;  // more than one batch of the gathering loop
  const MemorySource source(
      OneTensor({"FloatStorage", "0", 2 * kCount, 1, {kCount}, {2}}, Raw(Ramp(2 * kCount))));
  const std::vector<float> values = Values(*source, "w");
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(values[i], static_cast<float>(2 * i + 1));
}

TEST(TorchPt, UnwrapsAndStripsPrefixes) {
  PickleWriter pickle;
  const Spec spec{"FloatStorage", "0", 1, 0, {1}, {1}};
  pickle.Op("}(").Text("epoch").Int(3).Text("step").Tensor(spec);
  pickle.Text("state_dict").Op("}(").Text("model").EmptyOrderedDict().Op("(");
  pickle.Text("_orig_mod.module.a").Tensor(spec).Text("b._orig_mod.c").Tensor(spec);
  pickle.Text("module.module.d").Tensor(spec).Text("module_e.module.f").Tensor(spec);
  pickle.Text("count").Int(1).Op("u");
  pickle.Op("}").Text("_metadata").EmptyOrderedDict().Op("sb");  // what state_dict() attaches
  pickle.Op("uu");
  const MemorySource source(TorchZip(pickle.Stop(), {Raw<float>({5})}).Write());
  std::vector<std::string> names;
  for (const auto& [name, info] : source->tensors()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b.c", "d", "module_e.module.f"}));
}

TEST(TorchPt, TakesAConfigurationNamedModelForWhatItIs) {
  PickleWriter pickle;
  pickle.Op("}(").Text("model").Op("}(").Text("kind").Text("vit").Op("u");
  pickle.Text("state_dict").Op("}(").Text("w");
  pickle.Tensor({"FloatStorage", "0", 1, 0, {1}, {1}}).Op("uu");
  const MemorySource source(TorchZip(pickle.Stop(), {Raw<float>({5})}).Write());
  EXPECT_EQ(Values(*source, "w"), (std::vector<float>{5}));
}

TEST(TorchPt, ReadsOtherWaysToWriteATensor) {
  const Spec spec{"FloatStorage", "0", 2, 0, {2}, {1}};
  PickleWriter pickle(4);
  pickle.Op("}(").Text("parameter").Global("torch._utils", "_rebuild_parameter").Op("(");
  pickle.Tensor(spec).Op("\x88").EmptyOrderedDict().Op("tR");
  // Stacked names, as protocol 4 writes them, and a state that is set afterwards.
  pickle.Text("typed").Text("torch._tensor").Text("_rebuild_from_type_v2").Op("\x93(");
  pickle.Global("torch._utils", "_rebuild_tensor_v2").Global("torch", "Tensor");
  pickle.Op("(").TensorArguments(spec).Op("t}tR}b");
  pickle.Text("third").Global("torch._utils", "_rebuild_tensor_v3").Op("(");
  pickle.TensorArguments({"UntypedStorage", "0", 8, 0, {2}, {1}}).Global("torch", "float32");
  pickle.Op("tR").Text("sized").Global("torch._utils", "_rebuild_tensor").Op("(");
  pickle.Storage("FloatStorage", "0", 2).Int(0).Global("torch", "Size").Ints({2}).Op("\x85R");
  pickle.Ints({1}).Op("tRu");
  const MemorySource source(TorchZip(pickle.Stop(), {Raw<float>({5, 6})}).Write());
  for (const char* name : {"parameter", "typed", "third", "sized"}) {
    EXPECT_EQ(Values(*source, name), (std::vector<float>{5, 6})) << name;
    EXPECT_EQ(source->Find(name).dtype, DType::kF32);
  }
}

TEST(TorchPt, ToleratesDataBesideTheWeights) {
  const MemorySource source(WithExtra(Extra([](PickleWriter& p) {
    p.Op("](").Global("argparse", "Namespace").Op(")\x81}(").Text("depth").Int(4).Op("ub");
    p.Global("_codecs", "encode").Text("b").Text("latin1").Op("\x86R");
    p.Global("torch", "device").Text("cpu").Op("\x85R").Global("torch", "bfloat16");
    p.Global("os", "system");  // mentioned, never called
    p.Op("G").Op(RawNumber(1.0)).Op("NC\x01z\x8F(K\x01\x90");
    p.Global("collections", "OrderedDict").Op("](](").Text("k").Int(1).Op("ee\x85R");
    p.Op("\x8A\x09").Op(std::string(9, '\1')).Op("\x8B").Op(RawNumber(uint32_t{2})).Op("\xFF\xFF");
    p.Op("e");
  })));
  EXPECT_EQ(source->tensors().size(), 1u);
  EXPECT_EQ(Values(*source, "w"), Ramp(6));
}

TEST(TorchPt, RefusesToCallForeignCode) {
  const auto refused = [](ErrorCode code, const std::string& part,
                          const std::function<void(PickleWriter&)>& value) {
    ExpectRefused(code, part, WithExtra(Extra(value)));
  };
  refused(ErrorCode::kUnsafeFile, "posix.system", [](PickleWriter& p) {
    p.Global("posix", "system").Text("touch pwned_by_pickle").Op("\x85R");
  });
  refused(ErrorCode::kUnsafeFile, "builtins.eval", [](PickleWriter& p) {
    p.Text("builtins").Text("eval").Op("\x93").Text("1").Op("\x85R");
  });
  refused(ErrorCode::kUnsafeFile, "subprocess.Popen",
          [](PickleWriter& p) { p.Global("subprocess", "Popen").Op(")\x81"); });
  refused(ErrorCode::kUnsafeFile, "my.project.helper",
          [](PickleWriter& p) { p.Global("my.project", "helper").Op(")R"); });
  refused(ErrorCode::kUnsafeFile, "numpy.testing._private.utils.runstring",
          [](PickleWriter& p) { p.Global("numpy.testing._private.utils", "runstring").Op(")R"); });
  refused(ErrorCode::kUnsafeFile, "result of another call",
          [](PickleWriter& p) { p.Global("torch", "device").Op(")R)R"); });
  refused(ErrorCode::kUnsafeFile, "changes attributes",
          [](PickleWriter& p) { p.Global("torch", "device").Op("}b"); });
  refused(ErrorCode::kUnsafeFile, "outdated instruction",
          [](PickleWriter& p) { p.Op("(ios\nsystem\n"); });
  refused(ErrorCode::kUnsafeFile, "outdated instruction",
          [](PickleWriter& p) { p.Op("(").Global("os", "system").Op("o"); });
  refused(ErrorCode::kUnsupportedFormat, "state_dict",
          [](PickleWriter& p) { p.Global("my.project", "Net").Op(")\x81}b"); });
  refused(ErrorCode::kUnsupportedFormat, "state_dict",
          [](PickleWriter& p) { p.Global("my.project", "Net").Op(")}\x92"); });
}

TEST(TorchPt, RefusesWhatIsNoStateDict) {
  const auto top = [](const std::function<void(PickleWriter&)>& value) {
    PickleWriter pickle;
    value(pickle);
    return TorchZip(pickle.Stop(), {Raw(Ramp(6))}).Write();
  };
  const auto refused = [&](const std::string& part, const std::string& file) {
    ExpectRefused(ErrorCode::kUnsupportedFormat, part, file);
  };
  refused("a whole object", top([](PickleWriter& p) {
            p.Global("torch.nn.modules.linear", "Linear").Op(")\x81}b");
          }));
  refused("a single tensor", top([](PickleWriter& p) {
            p.Tensor({"FloatStorage", "0", 6, 0, {6}, {1}});
          }));
  refused("a list", top([](PickleWriter& p) { p.Op("]"); }));
  refused("a single value", top([](PickleWriter& p) { p.Op("N"); }));
  refused("holds no tensors", top([](PickleWriter& p) { p.Op("}"); }));
  refused("holds no tensors", top([](PickleWriter& p) {  // a dictionary that contains itself
            p.Op("}q\1(").Text("model").Op("h\1").Text("state_dict").Op("h\1u");
          }));
  refused("protocol 2 to 5", TorchZip("(dp0\n.", {}).Write());
  refused("no data.pkl", ZipWriter().Add("a.npy", "x").Write());
  refused("TorchScript", ZipWriter().Add("m/constants.pkl", "").Add("m/data.pkl", "").Write());
  refused("big-endian", ZipWriter()
                            .Add("m/data.pkl", PickleWriter().Op("}").Stop())
                            .Add("m/byteorder", "big")
                            .Write());
  refused("sparse", WithExtra(Extra([](PickleWriter& p) {
            p.Global("torch._utils", "_rebuild_qtensor").Op(")R");
          })));
  refused("complex", OneTensor({"ComplexFloatStorage", "0", 1, 0, {1}, {1}}, std::string(8, 'x')));
  refused("7 axes", OneTensor({"FloatStorage", "0", 1, 0, {1, 1, 1, 1, 1, 1, 1}, {}}, "1234"));
  refused("negated", WithExtra(Extra([](PickleWriter& p) {
            p.Global("torch._utils", "_rebuild_tensor_v2").Op("(");
            p.TensorArguments({"FloatStorage", "0", 6, 0, {6}, {1}});
            p.Op("}").Text("neg").Op("\x88stR");
          })));
}

TEST(TorchPt, KeepsTensorsInsideTheirStorage) {
  constexpr int64_t kHuge = INT64_MAX;
  const std::string storage = Raw(Ramp(6));
  const std::vector<Spec> outside = {
      {"FloatStorage", "0", 6, 1, {6}, {1}},
      {"FloatStorage", "0", 6, 7, {1}, {1}},
      {"FloatStorage", "0", 6, kHuge, {1}, {1}},
      {"FloatStorage", "0", 6, -1, {1}, {1}},
      {"FloatStorage", "0", 6, 0, {2, 3}, {4, 1}},
      {"FloatStorage", "0", 6, 0, {2}, {kHuge}},
      {"FloatStorage", "0", 6, 0, {2, 2}, {kHuge, kHuge}},
      {"FloatStorage", "0", 6, 0, {3, 3}, {kHuge, 1}},
      {"FloatStorage", "0", 6, 0, {2}, {-1}},
      {"FloatStorage", "0", 6, 5, {2}, {-1}},
      {"FloatStorage", "0", 6, 0, {-2}, {1}},
      {"FloatStorage", "0", 6, 0, {2}, {1, 1}},
      {"FloatStorage", "0", 6, 0, {kHuge, kHuge}, {0, 0}},
      {"FloatStorage", "0", 6, 0, {int64_t{1} << 41}, {0}},
      {"FloatStorage", "0", 6, 0, {kHuge, kHuge, 0}, {1, 1, 1}},
      {"FloatStorage", "0", 7, 0, {6}, {1}},
      {"FloatStorage", "0", kHuge, 0, {6}, {1}},
      {"FloatStorage", "0", -6, 0, {6}, {1}},
      {"DoubleStorage", "0", 6, 0, {6}, {1}},
      {"FloatStorage", "1", 6, 0, {6}, {1}},
  };
  for (size_t i = 0; i < outside.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectRefused(ErrorCode::kCorruptFile, "'", OneTensor(outside[i], storage));
  }
  // The archive may hold more than the storage is said to have; that is nobody's data.
  ExpectRefused(ErrorCode::kCorruptFile, "'w'",
                OneTensor({"FloatStorage", "0", 5, 0, {6}, {1}}, storage));
}

TEST(TorchPt, BoundsTheWorkOfHostilePickles) {
  const auto refused = [](const std::string& part, const std::string& pickle) {
    ExpectRefused(ErrorCode::kUnsupportedFormat, part, TorchZip(pickle, {}).Write());
  };
  // Nesting, five million deep.
  refused("instructions", PickleWriter().Op(std::string(5'000'000, ']')).Stop());
  // A large list copied again and again: linear in the file, quadratic in work if it were not
  // counted.
  for (const char* container : {"]", "}"}) {
    const bool list = *container == ']';
    PickleWriter copies;
    copies.Op(container).Op("(");
    for (int i = 0; i < 2000; ++i) copies.Op(list ? "NN\x86" : "NN");
    copies.Op(list ? "e" : "u").Op("q\0"s).Op("0");
    for (int i = 0; i < 20'000; ++i) {
      copies.Global("collections", "OrderedDict").Op("h\0\x85R0"s);
    }
    refused("instructions", copies.Stop());
  }
  // Doubling by reference is cheap, as long as nobody walks it.
  PickleWriter doubling;
  doubling.Op("}(").Text("x").Op("]");
  for (int i = 0; i < 10'000; ++i) doubling.Op("2\x86");
  refused("holds no tensors", doubling.Op("u").Stop());
}

TEST(TorchPt, RefusesBrokenPickles) {
  const auto refused = [](const std::string& ops) {
    SCOPED_TRACE(ops);
    const std::string file = TorchZip("\x80\x02" + ops, {}).Write();
    EXPECT_THROW(ParseTorchPt(AsBytes(file), "a file"), Error);
  };
  for (const char* ops : {"",
                          ".",
                          "t.",
                          "(0.",
                          "a.",
                          "]a.",
                          "}Ns.",
                          "}(Nu.",
                          "Q.",
                          "R.",
                          "NR.",
                          "N)R.",
                          "b.",
                          "Nb.",
                          "h\1.",
                          "2.",
                          "e.",
                          "]e.",
                          "K",
                          "cos",
                          "cos\nsys",
                          "\x85.",
                          "X\xFF\xFF\xFF\xFF.",
                          "\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF.",
                          "\x8B\xFF\xFF\xFF\xFF.",
                          "\x93.",
                          "NN\x93.",
                          "\x97.",
                          "\x82\x01.",
                          "P1\n.",
                          "(N}s.",
                          "Nq\1(h\1Ns."}) {
    refused(ops);
  }
}

TEST(TorchPt, ReadsBothKindsOfZip) {
  const std::string pickle =
      PickleWriter().Op("}").Text("w").Tensor({"FloatStorage", "0", 6, 0, {6}, {1}}).Op("s").Stop();
  const ZipWriter zip = TorchZip(pickle, {Raw(Ramp(6))});
  EXPECT_EQ(Values(*MemorySource(zip.Write(/*zip64=*/true)), "w"), Ramp(6));
  EXPECT_EQ(Values(*MemorySource(zip.Write(false, "a comment")), "w"), Ramp(6));
  EXPECT_EQ(Values(*MemorySource(zip.Write(true, "a comment")), "w"), Ramp(6));
}

TEST(TorchPt, RefusesUnreadableZips) {
  const std::string pickle =
      PickleWriter().Op("}").Text("w").Tensor({"FloatStorage", "0", 6, 0, {6}, {1}}).Op("s").Stop();
  const std::string data = Raw(Ramp(6));
  const auto with = [&](ZipWriter::File storage) {
    return ZipWriter().Add("m/data.pkl", pickle).Add(storage).Write();
  };
  EXPECT_EQ(Values(*MemorySource(with({"m/data/0", data})), "w"), Ramp(6));
  ExpectRefused(ErrorCode::kUnsupportedFormat, "compressed", with({"m/data/0", data, 8}));
  ExpectRefused(ErrorCode::kUnsupportedFormat, "encrypted", with({"m/data/0", data, 0, 1}));
  ExpectRefused(ErrorCode::kCorruptFile, "lacks its part 'm/data/0'", with({"m/data/1", data}));
  ExpectRefused(ErrorCode::kCorruptFile, "twice", with({"m/data.pkl", data}));
  std::string moved = with({"m/data/0", data});
  moved[moved.find("m/data/0")] = 'n';
  ExpectRefused(ErrorCode::kCorruptFile, "contradicts", moved);
  std::string broken = with({"m/data/0", data});
  broken[broken.rfind("PK\x03\x04")] = 'Q';
  ExpectRefused(ErrorCode::kCorruptFile, "not where", broken);
}

}  // namespace
}  // namespace lingbot
