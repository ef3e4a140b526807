// Devices that come, change and go while ids are bound to them.
#include "cma/manager.h"

namespace softrnic::cma {
void Manager::devices_changed(std::vector<device::DeviceInfo> devices) {
  devices_.set(std::move(devices));
  for (const auto& [number, id] : ids_.all()) {
    if (!id->binding || id->state == State::device_removal) continue;
    const device::DeviceInfo* now = devices_.find(id->binding.device);
    if (now == nullptr) {
      device_removed(*id);
    } else if (now->guid != id->binding.guid) {
      // The GUID comes from the Ethernet address: a bond has failed over, or somebody changed it. Peers may
      // hold the old one in their neighbour tables.
      id->binding.guid = now->guid;
      Event event;
      event.kind = RDMA_CM_EVENT_ADDR_CHANGE;
      events_.tell(*id, std::move(event));
    }
  }
}

void Manager::device_removed(Id& id) {
  if (id.state == State::address_query) host_.cancel_resolve(id.number);
  patience_.answered(id.number);
  id.state = State::device_removal;
  unattend(id);
  Event event;
  event.kind = RDMA_CM_EVENT_DEVICE_REMOVAL;
  events_.tell(id, std::move(event));
}

}  // namespace softrnic::cma
