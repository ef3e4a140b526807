// Who hears how a copy goes.
#pragma once

#include <cstdint>
#include <string>

namespace softrnic::copy {

/// Called by the thread that copies, often: be quick. The base class hears nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void totals(std::uint64_t files, std::uint64_t bytes) {
    static_cast<void>(files), static_cast<void>(bytes);
  }
  /// A file begins.
  virtual void file(const std::string& path) { static_cast<void>(path); }
  virtual void moved(std::uint64_t bytes) { static_cast<void>(bytes); }
  /// Something was not copied: `error` is an errno, or 0 when it was left out on purpose.
  virtual void trouble(const std::string& path, int error, const std::string& text) {
    static_cast<void>(path), static_cast<void>(error), static_cast<void>(text);
  }
  /// What --dry-run would do, and what --delete has removed.
  virtual void notice(const std::string& what, const std::string& path) {
    static_cast<void>(what), static_cast<void>(path);
  }
};

}  // namespace softrnic::copy
