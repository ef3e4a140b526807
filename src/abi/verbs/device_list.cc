#include "abi/verbs/device_list.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/sibling.h"
#include "abi/verbs/engine_calls.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/streams.h"
#include "base/bytes.h"
#include "engine/quiet_thread.h"

namespace softrnic::abi {
namespace {

/// No provider's operations, which is all that a provider wants to know of it.
const Sibling& own_sibling() {
  static const Sibling sibling{.reasons = static_cast<std::uint32_t>(reason_count()),
                               .explain = explain,
                               .on_daemon_end = on_daemon_end,
                               .on_daemon_return = on_daemon_return,
                               .run_aside = engine::run_aside,
                               .start_stream = start_stream,
                               .may_start_stream = may_start_stream,
                               .close_stream = close_stream,
                               .abort_stream = abort_stream,
                               .find_qp = LiveObjects::find_qp};
  return sibling;
}

struct DeviceTable {
  std::mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
};

/// Never destroyed: other threads may be inside at exit.
DeviceTable& table() {
  static auto* const devices = [] {
    hold_across_fork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); });
    return new DeviceTable;
  }();
  return *devices;
}

template <std::size_t Size>
void print(char (&out)[Size], const char* format, const char* name, unsigned index) {
  // The names are short; a longer one is cut.
  if (std::snprintf(out, Size, format, name, index) < 0) out[0] = '\0';
}

std::unique_ptr<Device> make_device(const device::DeviceInfo& info) {
  auto device = std::make_unique<Device>();
  const device::KindInfo& kind = device::info_of(info.kind);
  device->node_type = kind.node;
  device->transport_type = kind.transport;
  device->foreign_ops = &own_sibling();
  device->index = info.index;
  print(device->name, "%s", info.name.c_str(), 0);
  print(device->dev_name, "%suverbs%u", "", info.index);
  print(device->dev_path, "/sys/class/infiniband_verbs/%suverbs%u", "", info.index);
  print(device->ibdev_path, "/sys/class/infiniband/%s", info.name.c_str(), 0);
  return device;
}

}  // namespace

Device& device_of(const device::DeviceInfo& info) {
  DeviceTable& all = table();
  const std::lock_guard lock(all.mutex);
  Device* device = nullptr;
  for (const auto& known : all.devices)
    if (known->index == info.index && info.name == known->name) device = known.get();
  if (device == nullptr) device = all.devices.emplace_back(make_device(info)).get();
  device->guid.store(__builtin_bswap64(info.guid), std::memory_order_relaxed);
  return *device;
}

namespace {

Expected<ibv_device**, Failure> make_list(int* count) {
  const auto infos = list_devices();
  if (!infos) return Unexpected{infos.error()};
  auto** list = static_cast<ibv_device**>(std::calloc(infos->size() + 1, sizeof(ibv_device*)));
  if (list == nullptr) return out_of_memory();
  for (std::size_t i = 0; i < infos->size(); ++i) list[i] = &device_of((*infos)[i]);
  if (count != nullptr) *count = static_cast<int>(infos->size());
  return list;
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(ibv_device**, ibv_get_device_list, (int* count)) {
  if (count != nullptr) *count = 0;
  return pointer_call([&] { return make_list(count); });
}

SOFTRNIC_VERB(void, ibv_free_device_list, (ibv_device * *list)) { std::free(list); }

SOFTRNIC_VERB(const char*, ibv_get_device_name, (ibv_device * device)) {
  return device == nullptr ? nullptr : device->name;
}

SOFTRNIC_VERB(__be64, ibv_get_device_guid, (ibv_device * device)) {
  return device == nullptr ? 0 : static_cast<Device*>(device)->guid.load(std::memory_order_relaxed);
}

SOFTRNIC_EXPORT int ibv_get_device_index(ibv_device* device) {
  return device == nullptr ? -1 : static_cast<int>(static_cast<Device*>(device)->index);
}
