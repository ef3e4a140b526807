// The GID table.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "abi/calls.h"
#include "abi/provider_nodes.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"

/// The GID type in the words of sysfs: 0 InfiniBand or RoCEv1, 1 RoCEv2.
enum ibv_gid_type_sysfs : int { kSysfsRoceV1 = 0, kSysfsRoceV2 = 1 };

namespace softrnic::abi {
namespace {

Expected<device::GidEntry, Failure> find_gid(ibv_context* context, unsigned port, int index) {
  if (context == nullptr) return null_argument();
  return Context::of(context)->opened->context().gid(port, index);
}

ibv_gid_type type_of_gids(ibv_context* context) {
  return device::info_of(Context::of(context)->opened->context().info()->kind).gid_type;
}

ibv_gid_entry entry_of(ibv_context* context, const device::GidEntry& gid, std::uint32_t port,
                       std::uint32_t index) {
  ibv_gid_entry entry{};
  std::memcpy(entry.gid.raw, gid.gid.raw.data(), sizeof entry.gid.raw);
  entry.gid_index = index;
  entry.port_num = port;
  entry.gid_type = type_of_gids(context);
  entry.ndev_ifindex = gid.interface_index;
  return entry;
}

/// Copies an entry into a program's, whose size may be another.
void copy_entry(std::byte* to, std::size_t size, const ibv_gid_entry& entry) {
  std::memset(to, 0, size);
  std::memcpy(to, &entry, std::min(size, sizeof entry));
}

/// The number of entries written.
Expected<ssize_t, Failure> copy_table(ibv_context* context, ibv_gid_entry* entries, std::size_t room,
                                      std::uint32_t flags, std::size_t entry_size) {
  if (context == nullptr || (entries == nullptr && room != 0)) return null_argument();
  if (flags != 0) return rnic::refused(EINVAL, ReasonId::bad_comp_mask, flags);
  if (room == 0 || entry_size == 0) return rnic::refused(EINVAL, ReasonId::gid_table_room, room);
  const auto info = Context::of(context)->opened->context().info();
  std::size_t written = 0;
  for (std::size_t index = 0; index < info->port.gids.size(); ++index) {
    const device::GidEntry& gid = info->port.gids[index];
    if (gid.gid.is_zero()) continue;
    if (written == room) return rnic::refused(EINVAL, ReasonId::gid_table_room, room);
    auto* const to = reinterpret_cast<std::byte*>(entries) + written * entry_size;
    copy_entry(to, entry_size, entry_of(context, gid, 1, static_cast<std::uint32_t>(index)));
    ++written;
  }
  return static_cast<ssize_t>(written);
}

}  // namespace
}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(int, ibv_query_gid, (ibv_context * context, uint8_t port, int index, ibv_gid* gid)) {
  return minus_one_call([&]() -> Expected<void, Failure> {
    if (gid == nullptr) return null_argument();
    const auto found = find_gid(context, port, index);
    if (!found) return Unexpected{found.error()};
    std::memcpy(gid->raw, found->gid.raw.data(), sizeof gid->raw);
    return {};
  });
}

SOFTRNIC_PROVIDER_CALL(int, ibv_query_gid_type,
                       (ibv_context * context, uint8_t port, unsigned index, ibv_gid_type_sysfs* type)) {
  return minus_one_call([&]() -> Expected<void, Failure> {
    if (type == nullptr) return null_argument();
    const auto found = find_gid(context, port, static_cast<int>(index));
    if (!found) return Unexpected{found.error()};
    *type =
        !found->gid.is_zero() && type_of_gids(context) == IBV_GID_TYPE_ROCE_V2 ? kSysfsRoceV2 : kSysfsRoceV1;
    return {};
  });
}

// ENODATA for an empty entry is no refusal: programs walk the table this way.
SOFTRNIC_EXPORT int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index,
                                      ibv_gid_entry* entry, uint32_t flags, size_t entry_size) {
  bool empty = false;
  const int failed = errno_call([&]() -> Expected<void, Failure> {
    if (entry == nullptr) return null_argument();
    if (flags != 0) return rnic::refused(EINVAL, ReasonId::bad_comp_mask, flags);
    const auto found = find_gid(context, port, static_cast<int>(index));
    if (!found) return Unexpected{found.error()};
    empty = found->gid.is_zero();
    if (!empty)
      copy_entry(reinterpret_cast<std::byte*>(entry), entry_size, entry_of(context, *found, port, index));
    return {};
  });
  return empty ? ENODATA : failed;
}

SOFTRNIC_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t room,
                                             uint32_t flags, size_t entry_size) {
  const auto written = guarded([&] { return copy_table(context, entries, room, flags, entry_size); });
  return written ? *written : -written.error().error;
}
