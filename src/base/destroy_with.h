// A deleter for std::unique_ptr of objects of a C interface.
#pragma once

namespace softrnic {

/// Calls `destroy`; what it returns is not looked at.
template <auto destroy>
struct DestroyWith {
  template <typename T>
  void operator()(T* object) const {
    destroy(object);
  }
};

}  // namespace softrnic
