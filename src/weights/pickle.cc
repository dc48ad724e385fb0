#include "weights/pickle.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "weights/advice.h"

namespace lingbot {
namespace {

// Instructions, as the module `pickle` of Python's library names them.
enum Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDictOfMark = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kBinGet = 'h',
  kInst = 'i',
  kLongBinGet = 'j',
  kListOfMark = 'l',
  kEmptyList = ']',
  kObj = 'o',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTupleOfMark = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8A,
  kLong4 = 0x8B,
  kShortBinUnicode = 0x8C,
  kBinUnicode8 = 0x8D,
  kBinBytes8 = 0x8E,
  kEmptySet = 0x8F,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

constexpr int64_t kMaxSteps =
    4'000'000;  // twenty times what the released model's optimizer state takes
constexpr size_t kMaxGlobalName = 256;

}  // namespace

class Pickle::Machine {
 public:
  Machine(Pickle& target, std::span<const std::byte> bytes, const std::string& where)
      : target_(target),
        rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
        where_(where) {}

  void Run() {
    const auto protocol = rest_.size() >= 2 && static_cast<uint8_t>(rest_[0]) == kProto
                              ? static_cast<uint8_t>(rest_[1])
                              : uint8_t{0};
    Check(protocol >= 2 && protocol <= 5, ErrorCode::kUnsupportedFormat,
          "{} is not a pickle of protocol 2 to 5: save the checkpoint again with torch.save",
          where_);
    for (;;) {
      Spend(1);
      const uint8_t op = Byte();
      if (op == kStop) break;
      const bool known = Constant(op) || Text(op) || Container(op) || Memo(op) || Object(op);
      Check(known, ErrorCode::kUnsupportedFormat,
            "{} uses the pickle instruction {:#04x}, which checkpoints do not need: save it again "
            "with torch.save",
            where_, op);
    }
    target_.root_ = Pop();
  }

 private:
  // ---- The bytes.
  std::string_view Take(uint64_t count) {
    Check(count <= rest_.size(), ErrorCode::kCorruptFile,
          "{} breaks off: {} bytes are wanted where {} are left; {}", where_, count, rest_.size(),
          kDamaged);
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  template <typename T>
  T Load() {
    T value;
    std::memcpy(&value, Take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  uint8_t Byte() { return Load<uint8_t>(); }

  std::string_view Line() {
    const size_t end = rest_.substr(0, kMaxGlobalName + 1).find('\n');
    Check(end != std::string_view::npos, ErrorCode::kCorruptFile,
          "{} holds a name that does not end within {} bytes: {}", where_, kMaxGlobalName,
          kDamaged);
    const std::string_view line = Take(end);
    Take(1);
    return line;
  }

  void Spend(int64_t steps) {
    steps_ += steps;
    Check(steps_ <= kMaxSteps, ErrorCode::kUnsupportedFormat,
          "{} takes more than {} instructions: {}", where_, kMaxSteps, kSaveStateDict);
  }

  // ---- The stack.
  void Push(Node node) {
    target_.nodes_.push_back(node);
    PushRef(static_cast<Ref>(target_.nodes_.size() - 1));
  }
  void PushRef(Ref value) { stack_.push_back(value); }

  // Values above the last mark belong together; instructions must not reach below it.
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Ref Top() const {
    Check(stack_.size() > Floor(), ErrorCode::kCorruptFile,
          "{} takes a value from an empty stack: {}", where_, kDamaged);
    return stack_.back();
  }
  Ref Pop() {
    const Ref value = Top();
    stack_.pop_back();
    return value;
  }
  std::vector<Ref> PopMany(size_t count) {
    Check(stack_.size() - Floor() >= count, ErrorCode::kCorruptFile,
          "{} takes a value from an empty stack: {}", where_, kDamaged);
    std::vector<Ref> values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }
  std::vector<Ref> PopToMark() {
    Check(!marks_.empty(), ErrorCode::kCorruptFile, "{} closes what it has not opened: {}", where_,
          kDamaged);
    std::vector<Ref> values = PopMany(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }

  // ---- Making values.
  Node& At(Ref value) { return target_.nodes_[value]; }

  void PushInt(int64_t value, Kind kind = Kind::kInt) {
    Node node;
    node.kind = kind;
    node.integer = value;
    Push(node);
  }
  void PushText(std::string_view text, Kind kind = Kind::kText) {
    Node node;
    node.kind = kind;
    node.text = text;
    Push(node);
  }
  void PushItems(Kind kind, std::vector<Ref> items, GlobalKind global = GlobalKind::kForeign) {
    Node node;
    node.kind = kind;
    node.global = global;
    // Containers that can still grow need a list of their own.
    if (!items.empty() || kind == Kind::kList || kind == Kind::kDict) {
      node.list = static_cast<uint32_t>(target_.lists_.size());
      target_.lists_.push_back(std::move(items));
    }
    Push(node);
  }

  // Little-endian two's complement of any length; beyond 64 bits the value is of no use to a
  // checkpoint.
  void PushLong(std::string_view digits) {
    if (digits.size() > sizeof(int64_t)) return Push({});
    uint64_t value = 0;
    std::memcpy(&value, digits.data(), digits.size());
    const size_t unused = 64 - 8 * digits.size();
    if (unused < 64) value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
    PushInt(static_cast<int64_t>(value));
  }

  bool Constant(uint8_t op) {
    switch (op) {
      case kProto:
        Byte();
        return true;
      case kFrame:
        Load<uint64_t>();  // frames only help readers that buffer
        return true;
      case kNone:
        Push({});
        return true;
      case kNewTrue:
      case kNewFalse:
        PushInt(op == kNewTrue, Kind::kBool);
        return true;
      case kBinInt:
        PushInt(Load<int32_t>());
        return true;
      case kBinInt1:
        PushInt(Byte());
        return true;
      case kBinInt2:
        PushInt(Load<uint16_t>());
        return true;
      case kLong1:
        PushLong(Take(Byte()));
        return true;
      case kLong4:
        PushLong(Take(Load<uint32_t>()));
        return true;
      case kBinFloat:
        PushText(Take(sizeof(double)), Kind::kFloat);
        return true;
      default:
        return false;
    }
  }

  bool Text(uint8_t op) {
    switch (op) {
      case kShortBinUnicode:
      case kShortBinString:
        PushText(Take(Byte()));
        return true;
      case kBinUnicode:
      case kBinString:
        PushText(Take(Load<uint32_t>()));
        return true;
      case kBinUnicode8:
        PushText(Take(Load<uint64_t>()));
        return true;
      case kShortBinBytes:
        PushText(Take(Byte()), Kind::kOther);
        return true;
      case kBinBytes:
        PushText(Take(Load<uint32_t>()), Kind::kOther);
        return true;
      case kBinBytes8:
      case kByteArray8:
        PushText(Take(Load<uint64_t>()), Kind::kOther);
        return true;
      default:
        return false;
    }
  }

  bool Container(uint8_t op) {
    switch (op) {
      case kMark:
        marks_.push_back(stack_.size());
        return true;
      case kEmptyTuple:
        PushItems(Kind::kTuple, {});
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        PushItems(Kind::kTuple, PopMany(op - kTuple1 + 1));
        return true;
      case kTupleOfMark:
        PushItems(Kind::kTuple, PopToMark());
        return true;
      case kEmptyList:
        PushItems(Kind::kList, {});
        return true;
      case kListOfMark:
        PushItems(Kind::kList, PopToMark());
        return true;
      case kEmptyDict:
        PushItems(Kind::kDict, {});
        return true;
      case kDictOfMark: {
        const std::vector<Ref> items = PopToMark();
        PushItems(Kind::kDict, {});
        Extend(Kind::kDict, items);
        return true;
      }
      case kEmptySet:
        Push({});
        return true;
      case kFrozenSet:
        PopToMark();
        Push({});
        return true;
      case kAppend:
        Extend(Kind::kList, PopMany(1));
        return true;
      case kAppends:
        Extend(Kind::kList, PopToMark());
        return true;
      case kAddItems:
        PopToMark();
        Top();
        return true;
      case kSetItem:
        Extend(Kind::kDict, PopMany(2));
        return true;
      case kSetItems:
        Extend(Kind::kDict, PopToMark());
        return true;
      default:
        return false;
    }
  }

  // Adds to the container on top of the stack. Items of opaque objects are dropped.
  void Extend(Kind kind, const std::vector<Ref>& items) {
    const Ref target = Top();
    const Kind actual = At(target).kind;
    Check(actual == kind || actual == Kind::kCall || actual == Kind::kOther,
          ErrorCode::kCorruptFile, "{} adds items to what is no container: {}", where_, kDamaged);
    Check(kind != Kind::kDict || items.size() % 2 == 0, ErrorCode::kCorruptFile,
          "{} has a dictionary key without a value: {}", where_, kDamaged);
    if (actual != kind) return;
    std::vector<Ref>& list = target_.lists_[At(target).list];
    list.insert(list.end(), items.begin(), items.end());
  }

  bool Memo(uint8_t op) {
    switch (op) {
      case kPop:
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else {
          Pop();
        }
        return true;
      case kPopMark:
        PopToMark();
        return true;
      case kDup:
        PushRef(Top());
        return true;
      case kBinPut:
        memo_[Byte()] = Top();
        return true;
      case kLongBinPut:
        memo_[Load<uint32_t>()] = Top();
        return true;
      case kMemoize:
        memo_[static_cast<uint32_t>(memo_.size())] = Top();
        return true;
      case kBinGet:
        PushRef(Remembered(Byte()));
        return true;
      case kLongBinGet:
        PushRef(Remembered(Load<uint32_t>()));
        return true;
      default:
        return false;
    }
  }

  Ref Remembered(uint32_t index) const {
    const auto found = memo_.find(index);
    Check(found != memo_.end(), ErrorCode::kCorruptFile,
          "{} refers to value {}, which it has not defined: {}", where_, index, kDamaged);
    return found->second;
  }

  // ---- Names and what would be calls.
  bool Object(uint8_t op) {
    switch (op) {
      case kGlobal: {
        const std::string_view module = Line();
        PushName(module, Line());
        return true;
      }
      case kStackGlobal:
        StackGlobal();
        return true;
      case kBinPersId:
        PushItems(Kind::kPersistent, PopMany(1));
        return true;
      case kReduce:
      case kNewObj:
        Call(op);
        return true;
      case kNewObjEx:
        Pop();  // named arguments
        Call(op);
        return true;
      case kBuild:
        Build();
        return true;
      case kInst:
      case kObj:
        Fail(ErrorCode::kUnsafeFile,
             "{} calls code by an outdated instruction; nothing was run: {}", where_,
             kSaveStateDict);
      default:
        return false;
    }
  }

  void PushName(std::string_view module, std::string_view name) {
    Node node;
    node.kind = Kind::kName;
    node.module = module;
    node.text = name;
    node.global = ClassifyGlobal(module, name);
    Push(node);
  }

  void StackGlobal() {
    const Ref name = Pop();
    const Ref module = Pop();
    Check(At(name).kind == Kind::kText && At(module).kind == Kind::kText &&
              At(name).text.size() <= kMaxGlobalName && At(module).text.size() <= kMaxGlobalName,
          ErrorCode::kCorruptFile, "{} names something by what is not a short text: {}", where_,
          kDamaged);
    PushName(At(module).text, At(name).text);
  }

  // REDUCE calls a function, NEWOBJ and NEWOBJ_EX create an object without initialising it.
  void Call(uint8_t op) {
    const Ref arguments = Pop();
    const Ref callee = Pop();
    Check(At(arguments).kind == Kind::kTuple, ErrorCode::kCorruptFile,
          "{} calls something without a tuple of arguments: {}", where_, kDamaged);
    Check(At(callee).kind == Kind::kName, ErrorCode::kUnsafeFile,
          "{} calls the result of another call; nothing was run: do not trust this file, or {}",
          where_, kSaveStateDict);
    switch (At(callee).global) {
      case GlobalKind::kDict:
      case GlobalKind::kDefaultDict:
        return PushDict(callee, arguments);
      case GlobalKind::kForeign:
      case GlobalKind::kHostile:
        Refuse(op, At(callee));
      default:
        return PushItems(Kind::kCall, {callee, arguments}, At(callee).global);
    }
  }

  [[noreturn]] void Refuse(uint8_t op, const Node& callee) {
    const std::string name = Printable(callee.module) + "." + Printable(callee.text);
    Check(callee.global != GlobalKind::kHostile, ErrorCode::kUnsafeFile,
          "{} asks for {} to be run when it is loaded; nothing was run: the file may be hostile, "
          "get the checkpoint from a source that you trust",
          where_, name);
    Check(op != kReduce, ErrorCode::kUnsafeFile,
          "{} asks for the function {} to be run when it is loaded; nothing was run: {}", where_,
          name, kSaveStateDict);
    Fail(ErrorCode::kUnsupportedFormat,
         "{} holds a whole object of class {}, which only its own program can read; {}", where_,
         name, kSaveStateDict);
  }

  static std::string Printable(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
      if (c < 0x20 || c > 0x7E) c = '?';
    }
    return result;
  }

  // OrderedDict() and dict() are empty or made from a list of pairs (as Python 2 wrote them).
  void PushDict(Ref callee, Ref arguments) {
    std::vector<Ref> contents;
    const std::span<const Ref> given = target_.items(arguments);
    if (At(callee).global == GlobalKind::kDict && !given.empty()) {
      const Kind kind = At(given[0]).kind;
      if (kind == Kind::kDict) {
        const auto items = target_.items(given[0]);
        Spend(static_cast<int64_t>(items.size()));
        contents.assign(items.begin(), items.end());
      } else {
        AppendPairs(given[0], contents);
      }
    }
    PushItems(Kind::kDict, std::move(contents));
  }

  void AppendPairs(Ref list, std::vector<Ref>& contents) {
    const Kind kind = At(list).kind;
    Check(kind == Kind::kList || kind == Kind::kTuple, ErrorCode::kCorruptFile,
          "{} makes a dictionary from what is no list: {}", where_, kDamaged);
    Spend(static_cast<int64_t>(target_.items(list).size()));
    for (const Ref pair : target_.items(list)) {
      const std::span<const Ref> items = target_.items(pair);
      Check((At(pair).kind == Kind::kList || At(pair).kind == Kind::kTuple) && items.size() == 2,
            ErrorCode::kCorruptFile, "{} makes a dictionary from what are no pairs: {}", where_,
            kDamaged);
      contents.insert(contents.end(), items.begin(), items.end());
    }
  }

  // Sets attributes, or calls __setstate__, of the object below. Weights have none that matter.
  void Build() {
    Pop();
    const Kind kind = At(Top()).kind;
    Check(kind == Kind::kCall || kind == Kind::kDict || kind == Kind::kOther,
          ErrorCode::kUnsafeFile,
          "{} changes attributes of something that is no object of the file; nothing was run: do "
          "not trust this file, or {}",
          where_, kSaveStateDict);
  }

  Pickle& target_;
  std::string_view rest_;
  const std::string& where_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Ref> memo_;
  int64_t steps_ = 0;
};

Pickle::Pickle(std::span<const std::byte> bytes, std::string where) {
  Machine(*this, bytes, where).Run();
}

std::span<const Pickle::Ref> Pickle::items(Ref value) const { return lists_[nodes_[value].list]; }

}  // namespace lingbot
