// A protection domain: what keeps the keys and queues of one group of objects from those of another.
#pragma once

#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/object.h"

namespace softrnic::rnic {

class Context;

class ProtectionDomain {
 public:
  /// ENOMEM beyond the device's limit.
  static Expected<std::unique_ptr<ProtectionDomain>, Failure> create(Context& context);
  /// EBUSY while MRs, MWs, QPs, SRQs or AHs use it; delete the object afterwards.
  Expected<void, Failure> destroy();

  Context& context() const { return context_; }
  UseCount uses;

 private:
  explicit ProtectionDomain(Context& context) : context_(context) {}
  Context& context_;
};

}  // namespace softrnic::rnic
