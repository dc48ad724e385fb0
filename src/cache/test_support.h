#ifndef LINGBOT_CACHE_TEST_SUPPORT_H_
#define LINGBOT_CACHE_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include "lingbot/error.h"

namespace lingbot {

// The code of the Error that `call` throws; a failure of the test if it throws none.
template <typename Call>
ErrorCode CodeOf(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kNoInput;
}

}  // namespace lingbot

#endif  // LINGBOT_CACHE_TEST_SUPPORT_H_
