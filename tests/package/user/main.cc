// Asks each installed library for something: prints the devices, whether rdma_cm answers, and an opcode.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdio>

#include "wire/opcode.h"

int main() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; i < count; ++i) std::printf("device %s\n", ibv_get_device_name(devices[i]));
  if (devices != nullptr) ibv_free_device_list(devices);
  rdma_event_channel* channel = rdma_create_event_channel();
  std::printf("rdma_cm %s\n", channel != nullptr ? "answers" : "does not answer");
  if (channel != nullptr) rdma_destroy_event_channel(channel);
  const auto* info = softrnic::wire::find_opcode(4);
  std::printf("opcode %.*s\n", static_cast<int>(info->name.size()), info->name.data());
  return 0;
}
