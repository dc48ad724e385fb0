#ifndef LINGBOT_WEIGHTS_PICKLE_H_
#define LINGBOT_WEIGHTS_PICKLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weights/pickle_globals.h"

namespace lingbot {

// The values that a pickle (protocols 2 to 5) describes, as inert data. A pickle is a program for a
// stack machine; this one builds containers and remembers which names the program would call, and
// calls nothing:
//  - a name ("collections.OrderedDict", "os.system") is a value like any other, and merely
//  mentioning one is fine;
//  - calling a name of the allow-list of pickle_globals.h makes a kCall value that keeps name and
//  arguments, or an
//    empty dictionary. Its later state and items (BUILD, APPENDS, SETITEMS) are dropped, save for a
//    dictionary's;
//  - calling anything else, wherever in the file, refuses the file: kUnsafeFile, or
//  kUnsupportedFormat for an object
//    of an unknown class that is only created, as in a pickled model.
// An allow-list is sound because a reader that does not know a function cannot know that what it
// leaves out is not the weights; that nothing is run does not depend on the list.
//
// Work and memory are bounded by the length of the pickle: no recursion, at most 4 million
// instructions, and copies count as instructions.
class Pickle {
 public:
  using Ref = uint32_t;  // a value; several places may share one

  enum class Kind : uint8_t {
    kOther,  // nothing a checkpoint reader needs: None, numbers beyond 64 bits, sets
    kBool,
    kInt,
    kFloat,
    kText,
    kTuple,
    kList,
    kDict,
    kName,        // a Python name
    kPersistent,  // a reference to data outside the pickle; one item: what identifies it
    kCall,        // two items: the name and the tuple of arguments
  };

  // `bytes` must outlive the Pickle; `where` names it in messages. Throws kCorruptFile,
  // kUnsupportedFormat or kUnsafeFile.
  Pickle(std::span<const std::byte> bytes, std::string where);

  Ref root() const { return root_; }
  size_t size() const { return nodes_.size(); }  // every Ref is below
  Kind kind(Ref value) const { return nodes_[value].kind; }
  int64_t integer(Ref value) const { return nodes_[value].integer; }     // kInt, kBool
  std::string_view text(Ref value) const { return nodes_[value].text; }  // kText
  std::span<const Ref> items(
      Ref value) const;  // kTuple, kList, kPersistent, kCall; kDict: key, value, key, ...
  GlobalKind global(Ref value) const { return nodes_[value].global; }        // kName, kCall
  std::string_view module(Ref value) const { return nodes_[value].module; }  // kName
  std::string_view name(Ref value) const { return nodes_[value].text; }      // kName

 private:
  class Machine;

  struct Node {
    Kind kind = Kind::kOther;
    GlobalKind global = GlobalKind::kForeign;
    uint32_t list = 0;  // of lists_
    int64_t integer = 0;
    std::string_view text;
    std::string_view module;
  };

  std::vector<Node> nodes_;
  std::vector<std::vector<Ref>> lists_{1};  // number 0 stays empty, for values without items
  Ref root_ = 0;
};

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_PICKLE_H_
