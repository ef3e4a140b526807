// How a function becomes a symbol of libibverbs.so.1.
#pragma once

#define SOFTRNIC_VISIBLE __attribute__((visibility("default")))

/// Defines a function that is exported under the one version the version script gives its name.
#define SOFTRNIC_EXPORT extern "C" SOFTRNIC_VISIBLE

/// Makes `implementation`, defined in the same file, the default version of `name`.
#define SOFTRNIC_DEFAULT_VERSION(implementation, name, version) \
  __asm__(".symver " #implementation "," #name "@@" version)

/// Makes `implementation`, defined in the same file, a hidden old version of `name`.
#define SOFTRNIC_OLD_VERSION(implementation, name, version) \
  __asm__(".symver " #implementation "," #name "@" version)

/// Heads the definition of a function that is exported as NAME in one version and called softrnic_NAME inside
/// the library, because a header may declare NAME in another way, or not at all.
#define SOFTRNIC_VERSIONED(type, name, version, parameters) \
  SOFTRNIC_DEFAULT_VERSION(softrnic_##name, name, version); \
  SOFTRNIC_EXPORT type softrnic_##name parameters;          \
  type softrnic_##name parameters

/// The same of a function whose default version has a hidden IBVERBS_1.0 twin, see compat_1_0.cc.
#define SOFTRNIC_VERB(type, name, parameters) SOFTRNIC_VERSIONED(type, name, "IBVERBS_1.1", parameters)
