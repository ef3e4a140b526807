#include "rsocket/messages.h"

namespace softrnic::rsocket {
namespace {

constexpr std::byte kVersion{1};
enum Flag : std::uint8_t { kBigEndian = 1, kHasMappings = 2 };

// Where the fields stand; 4 to 6 are reserved.
enum OfferPlace : std::size_t {
  kOfferVersionAt = 0,
  kFlagsAt = 1,
  kCreditsAt = 2,
  kMappingsAt = 7,
  kTableAt = 8,
  kBufferAt = 24
};

void store(std::byte* at, const Segment& segment) {
  store_be64(at, segment.address);
  store_be32(at + 8, segment.key);
  store_be32(at + 12, segment.length);
}

Segment load(const std::byte* at) { return {load_be64(at), load_be32(at + 8), load_be32(at + 12)}; }

}  // namespace

std::array<std::byte, kOfferSize> encode(const Offer& offer) {
  std::array<std::byte, kOfferSize> bytes{};
  bytes[kOfferVersionAt] = kVersion;
  bytes[kFlagsAt] =
      static_cast<std::byte>((offer.big_endian ? kBigEndian : 0) | (offer.has_mappings ? kHasMappings : 0));
  store_be16(&bytes[kCreditsAt], offer.credits);
  bytes[kMappingsAt] = static_cast<std::byte>(to_scale(offer.mappings));
  store(&bytes[kTableAt], offer.table);
  store(&bytes[kBufferAt], offer.buffer);
  return bytes;
}

std::optional<Offer> decode_offer(Bytes private_data) {
  if (private_data.size() < kOfferSize || private_data[kOfferVersionAt] != kVersion) return std::nullopt;
  const auto flags = std::to_integer<std::uint8_t>(private_data[kFlagsAt]);
  Offer offer;
  offer.big_endian = (flags & kBigEndian) != 0;
  offer.has_mappings = (flags & kHasMappings) != 0;
  offer.credits = load_be16(&private_data[kCreditsAt]);
  offer.mappings =
      offer.has_mappings ? from_scale(std::to_integer<std::uint8_t>(private_data[kMappingsAt])) : 0;
  offer.table = load(&private_data[kTableAt]);
  offer.buffer = load(&private_data[kBufferAt]);
  if (offer.table.length == 0) return std::nullopt;
  return offer;
}

}  // namespace softrnic::rsocket
