// Opening, importing and closing of devices.
//
// A context's cmd_fd is a memfd whose inode names the context: ibv_import_device gets a duplicate of it and
// finds the context of this process that it belongs to. It carries no data.
#include <infiniband/verbs.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/completions.h"
#include "abi/verbs/data_path.h"
#include "abi/verbs/device_memory.h"
#include "abi/verbs/engine_calls.h"
#include "abi/verbs/extended_completions.h"
#include "abi/verbs/flows.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/memory.h"
#include "abi/verbs/memory_windows.h"
#include "abi/verbs/newer_verbs.h"
#include "abi/verbs/open_device.h"
#include "abi/verbs/parent_domains.h"
#include "abi/verbs/queries.h"
#include "abi/verbs/shared_receives.h"
#include "abi/verbs/unsupported.h"
#include "abi/verbs/work_queues.h"
#include "abi/verbs/xrc_domains.h"
#include "base/kernel_socket.h"
#include "base/reason_id.h"
#include "base/unique_fd.h"
#include "rnic/inline_tries.h"
#include "rnic/limits.h"

namespace softrnic::abi {
namespace {

/// All open devices of the process. Never destroyed: other threads may be inside at exit.
struct Opened {
  std::mutex mutex;
  std::vector<std::weak_ptr<OpenDevice>> devices;
  std::vector<std::shared_ptr<OpenDevice>>
      abandoned;  ///< closed with objects left; the program may still hold them
};

Opened& opened() {
  static auto* const all = [] {
    hold_across_fork([] { opened().mutex.lock(); }, [] { opened().mutex.unlock(); });
    return new Opened;
  }();
  return *all;
}

std::shared_ptr<OpenDevice> find_by_fd(int cmd_fd) {
  struct stat status {};
  if (fstat(cmd_fd, &status) != 0) return nullptr;
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  for (const auto& weak : all.devices) {
    auto device = weak.lock();
    if (device && device->is_named_by(status)) return device;
  }
  return nullptr;
}

void remember(const std::shared_ptr<OpenDevice>& device) {
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.devices, [](const auto& weak) { return weak.expired(); });
  all.devices.push_back(device);
}

void fill_operations(Context& context) {
  refuse_unsupported(context);
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.create_qp_ex = create_qp_ex;
  context.modify_qp_rate_limit = modify_qp_rate_limit;
  context.create_cq_ex = create_cq_ex;
  context.modify_cq = modify_cq;
  context.create_srq_ex = create_srq_ex;
  context.get_srq_num = get_srq_number;
  context.post_srq_ops = post_srq_operations;
  context.open_xrcd = open_xrcd;
  context.close_xrcd = close_xrcd;
  context.open_qp = open_qp;
  context.alloc_null_mr = alloc_null_mr;
  context.alloc_td = alloc_td;
  context.dealloc_td = dealloc_td;
  context.alloc_parent_domain = alloc_parent_domain;
  context.advise_mr = advise_mr;
  context.alloc_dm = alloc_dm;
  context.free_dm = free_dm;
  context.reg_dm_mr = reg_dm_mr;
  context.query_rt_values = query_rt_values;
  fill_flow_operations(context);
  fill_work_queue_operations(context);
  ibv_context_ops& ops = context.context.ops;
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = request_notification;
  ops.post_send = post_send;
  ops.post_recv = post_receive;
  ops.post_srq_recv = post_shared_receive;
  const NewerOperations newer;
  std::byte* const verbs = reinterpret_cast<std::byte*>(&ops) - offsetof(ibv_context, ops);
  std::memcpy(verbs - kBytesBeforeContext, &newer, sizeof newer);
}

Expected<ibv_context*, Failure> make_context(std::shared_ptr<OpenDevice> device, int cmd_fd) {
  auto context = std::make_unique<Context>();
  // By this a program knows which operations its verbs.h may look for in front of the others.
  context->sz = kVerbsContextBytes;
  ibv_context& verbs = context->context;
  verbs.device = &device->device();
  verbs.cmd_fd = cmd_fd;
  verbs.async_fd = device->context().events().fd();
  verbs.num_comp_vectors = rnic::limits::kCompletionVectors;
  // verbs.h: what makes the inline calls look for a struct verbs_context around this one.
  verbs.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&verbs.mutex, nullptr);
  fill_operations(*context);
  context->opened = std::move(device);
  return &context.release()->context;
}

Expected<ibv_context*, Failure> open(Device& device) {
  auto adapter = open_adapter(device.index);
  if (!adapter) return Unexpected{adapter.error()};
  // A descriptor with an inode of its own, by which ibv_import_device() knows it again.
  // Containers may refuse a memfd.
  const int fd = above_stdio(kernel_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return rnic::refused(errno, ReasonId::out_of_fds, errno);
  auto opened_device = std::make_shared<OpenDevice>(device, std::move(*adapter), status);
  remember(opened_device);
  return make_context(std::move(opened_device), fd);
}

void close(Context* context) {
  rnic::tell_inline_tries();
  std::shared_ptr<OpenDevice> device = std::move(context->opened);
  ::close(context->context.cmd_fd);
  pthread_mutex_destroy(&context->context.mutex);
  delete context;
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  if (device.use_count() == 1 && device->abandon()) all.abandoned.push_back(std::move(device));
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(ibv_context*, ibv_open_device, (ibv_device * device)) {
  return pointer_call([&]() -> Expected<ibv_context*, Failure> {
    if (device == nullptr) return null_argument();
    return alive(open(*static_cast<Device*>(device)));
  });
}

SOFTRNIC_EXPORT ibv_context* ibv_import_device(int cmd_fd) {
  return pointer_call([&]() -> Expected<ibv_context*, Failure> {
    auto device = find_by_fd(cmd_fd);
    if (!device) return rnic::refused(EINVAL, ReasonId::bad_import, cmd_fd);
    return alive(make_context(std::move(device), cmd_fd));
  });
}

SOFTRNIC_VERB(int, ibv_close_device, (ibv_context * context)) {
  return errno_call([&] {
    return end_life(context, [](ibv_context* verbs) -> Expected<void, Failure> {
      close(Context::of(verbs));
      return {};
    });
  });
}
