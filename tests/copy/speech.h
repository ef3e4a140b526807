// What a hostile sender says: records of the protocol, in any order and with any content.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "copy/checksum.h"
#include "copy/stream.h"

namespace softrnic::copy {

class Speech {
 public:
  Speech& directory(const std::string& path, std::uint32_t mode = 0755) {
    Directory record;
    record.number = ++number_;
    record.metadata.mode = mode;
    record.path = path;
    return add(record);
  }
  Speech& symlink(const std::string& path, const std::string& target) {
    Symlink record;
    record.number = ++number_;
    record.path = path;
    record.target = target;
    return add(record);
  }
  Speech& offer(const std::string& path) {
    Offer record;
    record.number = ++offers_;
    record.metadata.mode = 0644;
    record.path = path;
    return add(record);
  }
  /// A whole file, with its data.
  Speech& file(const std::string& path, const std::string& text, std::uint32_t flags = 0,
               std::uint32_t mode = 0644) {
    File record;
    record.number = ++number_;
    record.metadata.mode = mode;
    record.size = text.size();
    record.flags = flags;
    record.path = path;
    add(record);
    FileEnd end;
    end.size = text.size();
    if (!text.empty()) {
      Chunk chunk;
      chunk.length = static_cast<std::uint32_t>(text.size());
      chunk.hash = hash_of(std::as_bytes(std::span(text)));
      Fingerprint fingerprint;
      fingerprint.add(0, chunk.length, chunk.hash);
      end.hash = fingerprint.value();
      said_.push_back([chunk, text](Stream& stream) { return put_chunk(stream, chunk, text); });
    }
    return add(end);
  }
  Speech& listing(const std::string& path, const std::string& names, bool last = true) {
    return add(Listing{static_cast<std::uint8_t>(last ? 1 : 0), path, names});
  }
  Speech& unreadable(const std::string& path, const std::string& text) {
    Unreadable record;
    record.error = EACCES;
    record.path = path;
    record.text = text;
    return add(record);
  }
  Speech& end() { return add(End{}); }
  template <typename Record>
  Speech& add(const Record& record) {
    said_.push_back([record](Stream& stream) { return stream.put(record); });
    return *this;
  }

  /// As long as `make` makes some, each from its number.
  template <typename Record>
  Speech& each(std::uint64_t count, std::function<Record(std::uint64_t)> make) {
    said_.push_back([count, make](Stream& stream) {
      Result<void> put = {};
      for (std::uint64_t i = 0; put && i < count; ++i) put = stream.put(make(i));
      return put;
    });
    return *this;
  }

  Result<void> say(Stream& stream) const {
    for (const auto& one : said_)
      if (const auto put = one(stream); !put) return put;
    return stream.flush();
  }

 private:
  static Result<void> put_chunk(Stream& stream, const Chunk& chunk, const std::string& text) {
    const auto room = stream.chunk_room(text.size());
    if (!room) return Unexpected{room.error()};
    std::memcpy(room->data(), text.data(), text.size());
    return stream.put_chunk(chunk);
  }

  std::vector<std::function<Result<void>(Stream&)>> said_;
  std::uint64_t number_ = 0, offers_ = 0;
};

}  // namespace softrnic::copy
