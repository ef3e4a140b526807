#include "abi/rdmacm/devices.h"

#include <endian.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "rnic/refusal.h"

namespace softrnic::rdmacm {
namespace {

/// A verb that failed has explained itself.
Unexpected<Failure> verb_failed(int error) { return Unexpected{Failure{error != 0 ? error : ENODEV, {}}}; }

std::uint8_t one_byte(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 0xff)); }

}  // namespace

Expected<DeviceList, Failure> list_devices() {
  DeviceList list(ibv_get_device_list(nullptr));
  if (!list) return verb_failed(errno);
  if (*list.get() == nullptr) return rnic::refused(ENODEV, ReasonId::rdma_no_devices);
  return list;
}

DeviceTable::~DeviceTable() {
  for (const auto& device : devices_) {
    ibv_dealloc_pd(device->pd);
    if (device->xrcd != nullptr) ibv_close_xrcd(device->xrcd);
    ibv_close_device(device->verbs);
  }
}

Expected<Device*, Failure> DeviceTable::opened(ibv_device* device) {
  const int index = ibv_get_device_index(device);
  const std::uint64_t guid = be64toh(ibv_get_device_guid(device));
  for (const auto& known : devices_)
    if (known->index == index && known->guid == guid) return known.get();
  auto made = std::make_unique<Device>();
  made->index = index;
  made->guid = guid;
  made->verbs = ibv_open_device(device);
  if (made->verbs == nullptr) return verb_failed(errno);
  ibv_device_attr attributes{};
  int error = ibv_query_device(made->verbs, &attributes);
  if (error == 0) {
    made->pd = ibv_alloc_pd(made->verbs);
    if (made->pd == nullptr) error = errno;
  }
  if (error != 0) {
    ibv_close_device(made->verbs);
    return verb_failed(error);
  }
  made->max_responder_resources = one_byte(attributes.max_qp_rd_atom);
  made->max_initiator_depth = one_byte(attributes.max_qp_init_rd_atom);
  return devices_.emplace_back(std::move(made)).get();
}

Expected<Device*, Failure> DeviceTable::find(std::uint32_t index, std::uint64_t guid) {
  const std::lock_guard lock(mutex_);
  for (const auto& device : devices_)
    if (device->index == static_cast<int>(index) && device->guid == guid) return device.get();
  auto list = list_devices();
  if (!list) return Unexpected{list.error()};
  for (ibv_device** device = list->get(); *device != nullptr; ++device) {
    if (ibv_get_device_index(*device) == static_cast<int>(index) &&
        be64toh(ibv_get_device_guid(*device)) == guid)
      return opened(*device);
  }
  return rnic::refused(ENODEV, ReasonId::no_such_device);
}

Expected<ibv_xrcd*, Failure> DeviceTable::xrc_domain(Device& device) {
  const std::lock_guard lock(mutex_);
  if (device.xrcd != nullptr) return device.xrcd;
  ibv_xrcd_init_attr attributes{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
  device.xrcd = ibv_open_xrcd(device.verbs, &attributes);
  if (device.xrcd == nullptr) return verb_failed(errno);
  return device.xrcd;
}

Expected<std::vector<ibv_context*>, Failure> DeviceTable::all() {
  const std::lock_guard lock(mutex_);
  auto list = list_devices();
  if (!list) return Unexpected{list.error()};
  std::vector<ibv_context*> contexts;
  for (ibv_device** device = list->get(); *device != nullptr; ++device) {
    // A device that cannot be opened is left out, as in librdmacm.
    if (const auto found = opened(*device)) contexts.push_back((*found)->verbs);
  }
  return contexts;
}

}  // namespace softrnic::rdmacm
