// The version nodes of the interface between libibverbs and its hardware providers. A release of rdma-core
// that changes it names the node anew. One library serves programs of all releases, so each symbol stands in
// the node of the release that brought it and in all later ones.
#pragma once

#include "abi/export.h"

#define SOFTRNIC_OLD_NODE(implementation, name, node) \
  SOFTRNIC_OLD_VERSION(implementation, name, "IBVERBS_PRIVATE_" #node)
#define SOFTRNIC_FIRST_NODE(implementation, name, node) \
  SOFTRNIC_DEFAULT_VERSION(implementation, name, "IBVERBS_PRIVATE_" #node)

// SINCE_N(implementation, name): `implementation`, defined in the same file, in node N and those after it.
#define SINCE_34(implementation, name)           \
  SOFTRNIC_FIRST_NODE(implementation, name, 34); \
  SOFTRNIC_OLD_NODE(implementation, name, 57);   \
  SOFTRNIC_OLD_NODE(implementation, name, 59);   \
  SOFTRNIC_OLD_NODE(implementation, name, 64);   \
  SOFTRNIC_OLD_NODE(implementation, name, 65)
#define SINCE_59(implementation, name)           \
  SOFTRNIC_FIRST_NODE(implementation, name, 59); \
  SOFTRNIC_OLD_NODE(implementation, name, 64);   \
  SOFTRNIC_OLD_NODE(implementation, name, 65)
#define SINCE_64(implementation, name)           \
  SOFTRNIC_FIRST_NODE(implementation, name, 64); \
  SOFTRNIC_OLD_NODE(implementation, name, 65)
#define SINCE_65(implementation, name) SOFTRNIC_FIRST_NODE(implementation, name, 65)

/// Heads the definition of a function of that interface; inside the library it is called softrnic_NAME.
#define SOFTRNIC_PROVIDER_CALL(type, name, parameters) \
  SINCE_34(softrnic_##name, name);                     \
  SOFTRNIC_EXPORT type softrnic_##name parameters;     \
  type softrnic_##name parameters
