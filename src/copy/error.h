// Why a copy failed: what kind of trouble, the errno when there is one, and a sentence for people.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/expected.h"

namespace softrnic::copy {

/// What the caller can do about it; the command makes its exit code of this.
enum class Trouble : std::uint8_t {
  usage,        ///< what was asked for makes no sense
  unreachable,  ///< no connection came about
  refused,      ///< the peer does not want us: token, permission, version, limits
  broken,       ///< the connection or the peer went away in the middle
  protocol,     ///< the peer says what it must not say
  system,       ///< a system call here failed
  interrupted,  ///< the caller asked to stop
};

struct Error {
  Trouble trouble = Trouble::system;
  int code = 0;  ///< errno, 0 when none
  std::string text;
};

template <typename T>
using Result = Expected<T, Error>;

inline Unexpected<Error> fail(Trouble trouble, std::string text, int code = 0) {
  return Unexpected{Error{trouble, code, std::move(text)}};
}

/// A failed system call: "what: text of errno".
inline Unexpected<Error> fail_errno(const std::string& what, int code = errno,
                                    Trouble trouble = Trouble::system) {
  return Unexpected{Error{trouble, code, what + ": " + std::strerror(code)}};
}

}  // namespace softrnic::copy
