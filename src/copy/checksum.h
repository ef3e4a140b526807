// XXH3-128 of chunks, and of a whole file by way of them.
#pragma once

#include "base/bytes.h"
#include "copy/records.h"

namespace softrnic::copy {

Hash hash_of(Bytes bytes);

/// A short text for file names: 32 hexadecimal digits.
std::string hex_of(const Hash& hash);

/// Of a file: the hash over offset, length and hash of its chunks, in the order they were sent. Both ends
/// keep one, so that a chunk that was left out or sent twice shows even though each chunk is whole.
class Fingerprint {
 public:
  void add(std::uint64_t offset, std::uint32_t length, const Hash& hash);
  Hash value() const { return state_; }

 private:
  Hash state_{};
};

}  // namespace softrnic::copy
