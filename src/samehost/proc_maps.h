// The mappings of this process, as the kernel lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace softrnic::samehost {

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  ///< of `start` in the file
  std::uint64_t device = 0;  ///< as st_dev
  std::uint64_t inode = 0;   ///< 0: of no file
  bool writable = false;
  bool shared = false;
  std::string name;  ///< of the file; not always its path
};

/// The mapping that holds `address`; nothing: none does, or there is no /proc. Mappings that are private
/// may be taken for nothing.
std::optional<Mapping> mapping_at(std::uint64_t address);

// ---- the two ways in which mapping_at() finds out

/// One question to the kernel (Linux 6.11). `supported` false: it does not understand it.
std::optional<Mapping> ask_for_mapping(std::uint64_t address, bool& supported);
/// Reads the list, which takes long in a process of many mappings: so only where the page at `address` is one
/// of a file or of shared memory, which is soon found out.
std::optional<Mapping> look_for_mapping(std::uint64_t address);

}  // namespace softrnic::samehost
