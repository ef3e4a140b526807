#include "abi/verbs/xrc_domains.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "abi/calls.h"
#include "abi/verbs/engine_calls.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"
#include "rnic/limits.h"

namespace softrnic::abi {
namespace {

/// A domain that others may open by the same file.
struct Entry {
  pid_t process;  ///< a forked child has a copy, which is of no use to it
  const Device* device;
  dev_t file_system;
  ino_t inode;
  std::weak_ptr<SharedXrcDomain> domain;
};

struct Domains {
  std::mutex mutex;
  std::vector<Entry> by_file;
};

/// Never destroyed: other threads may be inside at exit.
Domains& domains() {
  static auto* const all = [] {
    hold_across_fork([] { domains().mutex.lock(); }, [] { domains().mutex.unlock(); });
    return new Domains;
  }();
  return *all;
}

/// What is asked for: a file, or none (-1).
struct Wanted {
  int fd = -1;
  bool create = false;
  bool exclusive = false;
};

Expected<Wanted, Failure> wanted_by(const ibv_xrcd_init_attr& attributes) {
  constexpr std::uint32_t kKnown = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  const std::uint32_t mask = attributes.comp_mask;
  if ((mask & ~kKnown) != 0) return rnic::refused(EOPNOTSUPP, ReasonId::bad_comp_mask, mask);
  if (mask != kKnown) return rnic::refused(EINVAL, ReasonId::xrcd_attributes, mask);
  if ((attributes.oflags & ~(O_CREAT | O_EXCL)) != 0)
    return rnic::refused(EINVAL, ReasonId::xrcd_attributes, mask, attributes.oflags);
  return Wanted{attributes.fd, (attributes.oflags & O_CREAT) != 0, (attributes.oflags & O_EXCL) != 0};
}

// The errnos of ib_uverbs: EAGAIN where there is none, EINVAL where there may be none.
Expected<std::shared_ptr<SharedXrcDomain>, Failure> open_by_file(const Device& device, const Wanted& wanted) {
  struct stat file {};
  if (fstat(wanted.fd, &file) != 0) return rnic::refused(EBADF, ReasonId::xrcd_no_file, wanted.fd);
  const auto lock = hold_xrc_domains();
  std::vector<Entry>& all = domains().by_file;
  const pid_t self = getpid();
  std::erase_if(all, [self](const Entry& entry) { return entry.process != self || entry.domain.expired(); });
  for (const Entry& entry : all) {
    const bool same =
        entry.device == &device && entry.file_system == file.st_dev && entry.inode == file.st_ino;
    auto found = same ? entry.domain.lock() : nullptr;
    if (found == nullptr) continue;
    if (wanted.exclusive) return rnic::refused(EINVAL, ReasonId::xrcd_exists);
    return found;
  }
  if (!wanted.create) return rnic::refused(EAGAIN, ReasonId::xrcd_not_there);
  auto made = std::make_shared<SharedXrcDomain>();
  all.push_back({self, &device, file.st_dev, file.st_ino, made});
  return made;
}

Expected<std::shared_ptr<SharedXrcDomain>, Failure> open_shared(const Device& device, const Wanted& wanted) {
  if (wanted.fd != -1) return open_by_file(device, wanted);
  if (!wanted.create) return rnic::refused(EINVAL, ReasonId::xrcd_not_there);
  return std::make_shared<SharedXrcDomain>();
}

Expected<ibv_xrcd*, Failure> open(ibv_context* context, const ibv_xrcd_init_attr* attributes) {
  if (context == nullptr || attributes == nullptr) return null_argument();
  const auto wanted = wanted_by(*attributes);
  if (!wanted) return Unexpected{wanted.error()};
  OpenDevice& opened = *Context::of(context)->opened;
  if (opened.context().has_streams())
    return rnic::refused(EOPNOTSUPP, ReasonId::iwarp_no_object, ObjectKind::xrc_domain);
  rnic::UseCount& count = opened.context().counts.xrc_domains;
  if (count.users() >= rnic::limits::kMaxXrcDomains)
    return rnic::refused(ENOMEM, ReasonId::too_many_objects, rnic::limits::kMaxXrcDomains,
                         ObjectKind::xrc_domain);
  auto xrcd = std::make_unique<Xrcd>();
  auto shared = open_shared(opened.device(), *wanted);
  if (!shared) return Unexpected{shared.error()};
  xrcd->context = context;
  xrcd->opened = &opened;
  xrcd->impl = std::move(*shared);
  count.add();
  return xrcd.release();
}

Expected<void, Failure> end_xrcd(ibv_xrcd* verbs) {
  Xrcd* const xrcd = Xrcd::of(verbs);
  const std::uint32_t users = xrcd->uses.users();
  if (users != 0) return rnic::refused(EBUSY, ReasonId::object_busy, users, ObjectKind::xrc_domain);
  {
    const auto lock = hold_xrc_domains();
    xrcd->impl.reset();
  }
  xrcd->opened->context().counts.xrc_domains.release();
  delete xrcd;
  return {};
}

}  // namespace

std::unique_lock<std::mutex> hold_xrc_domains() { return std::unique_lock(domains().mutex); }

void add_target(Qp& qp) {
  const auto lock = hold_xrc_domains();
  SharedXrcDomain& shared = *qp.domain->impl;
  shared.targets[qp.impl->qpn().value].push_back(&qp);
  shared.domain.add(*qp.impl);
  qp.domain->uses.add();
}

// Its events come to the device context that it was made in.
Expected<void, Failure> join_target(Qp& qp, std::uint32_t qpn) {
  const auto lock = hold_xrc_domains();
  SharedXrcDomain& shared = *qp.domain->impl;
  const auto found = shared.targets.find(qpn);
  if (found == shared.targets.end()) return rnic::refused(EINVAL, ReasonId::xrc_no_such_target, qpn);
  const Qp& other = *found->second.front();
  found->second.push_back(&qp);
  qp.impl = other.impl;
  qp.opened = other.opened;
  qp.domain->uses.add();
  return {};
}

// Events are told of whatever the program still has of the target.
bool remove_target(Qp& qp) {
  const auto lock = hold_xrc_domains();
  SharedXrcDomain& shared = *qp.domain->impl;
  const auto target = shared.targets.find(qp.impl->qpn().value);
  std::vector<Qp*>& opened = target->second;
  std::erase(opened, &qp);
  qp.domain->uses.release();
  if (!opened.empty()) {
    if (qp.impl->owner == qp.verbs()) qp.impl->owner = opened.front()->verbs();
    return false;
  }
  shared.domain.remove(*qp.impl);
  shared.targets.erase(target);
  return true;
}

void add_srq(Srq& srq) {
  const auto lock = hold_xrc_domains();
  srq.domain->impl->domain.add(*srq.impl);
  srq.domain->uses.add();
}

void remove_srq(Srq& srq) {
  const auto lock = hold_xrc_domains();
  srq.domain->impl->domain.remove(*srq.impl);
  srq.domain->uses.release();
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
  return pointer_call([&] { return alive(open(context, attributes)); });
}

int close_xrcd(ibv_xrcd* xrcd) {
  return errno_call([&] { return end_life(xrcd, end_xrcd); });
}

}  // namespace softrnic::abi
