// The devices as librdmacm shows them: each opened once, at first need, with one default protection domain.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rdmacm {

struct Device {
  ibv_context* verbs = nullptr;
  ibv_pd* pd = nullptr;      ///< the default one
  ibv_xrcd* xrcd = nullptr;  ///< the same; nullptr: DeviceTable::xrc_domain() has not been asked for it
  int index = 0;
  std::uint64_t guid = 0;  ///< host order
  std::uint8_t max_responder_resources = 0;
  std::uint8_t max_initiator_depth = 0;
};

/// Thread-safe.
class DeviceTable {
 public:
  DeviceTable() = default;
  ~DeviceTable();
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;

  /// The device with this index and node GUID; it lives as long as the table. ENODEV when there is none.
  Expected<Device*, Failure> find(std::uint32_t index, std::uint64_t guid);
  /// The default XRC domain of a device of this table: one for all targets and SRQs for which the program
  /// names none.
  Expected<ibv_xrcd*, Failure> xrc_domain(Device& device);
  /// All devices there are now.
  Expected<std::vector<ibv_context*>, Failure> all();

 private:
  Expected<Device*, Failure> opened(ibv_device* device);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
};

/// The list of ibv_get_device_list, not empty: ENODEV when there is no device.
struct FreeDeviceList {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};
using DeviceList = std::unique_ptr<ibv_device*, FreeDeviceList>;
Expected<DeviceList, Failure> list_devices();

}  // namespace softrnic::rdmacm
