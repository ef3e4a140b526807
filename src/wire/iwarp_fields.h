// Where the fields of iWARP's headers lie: MPA (RFC 5044 7.1, RFC 6581 6), DDP (RFC 5041 4), RDMAP (RFC
// 5040 4), and its extensions (RFC 7306 5, 6). Fields of less than a byte share a group, which mpa.h,
// ddp.h and terminate.h take apart.
#pragma once

#include "wire/fields.h"

namespace softrnic::wire::field {

/// MPA request and reply frame; private data follow.
struct MpaFrame {
  static constexpr std::size_t kKey = 0;  ///< 16 bytes
  using Flags = Field<16, 1>;             ///< M, C, R, S (RFC 6581), 4 reserved
  using Revision = Field<17, 1>;
  using PrivateDataLength = Field<18, 2>;
};

/// What leads the private data of an enhanced frame (RFC 6581 6).
struct MpaEnhanced {
  using Ird = Field<0, 2>;  ///< A, B, IRD (14 bits)
  using Ord = Field<2, 2>;  ///< C, D, ORD (14 bits)
};

struct MpaMarker {
  using Reserved = Field<0, 2>;
  using FpduPointer = Field<2, 2>;
};

struct Fpdu {
  using UlpduLength = Field<0, 2>;
};

/// The control fields of DDP and RDMAP lead every segment.
struct Ddp {
  using Control = Field<0, 1>;       ///< T, L, 4 reserved, DV (2 bits)
  using RdmapControl = Field<1, 1>;  ///< RV (2 bits), 2 reserved, opcode (4 bits)
};

struct DdpTagged {
  using Stag = Field<2, 4>;
  using TaggedOffset = Field<6, 8>;
};

struct DdpUntagged {
  using Ulp = Field<2, 4>;  ///< the STag to invalidate, or reserved
  using Queue = Field<6, 4>;
  using Msn = Field<10, 4>;
  using MessageOffset = Field<14, 4>;
};

struct ReadRequest {
  using SinkStag = Field<0, 4>;
  using SinkOffset = Field<4, 8>;
  using Size = Field<12, 4>;
  using SourceStag = Field<16, 4>;
  using SourceOffset = Field<20, 8>;
};

struct AtomicRequest {
  using Opcode = Field<0, 4>;  ///< 28 reserved, opcode (4 bits)
  using Identifier = Field<4, 4>;
  using Stag = Field<8, 4>;
  using TaggedOffset = Field<12, 8>;
  using AddOrSwap = Field<20, 8>;
  using AddOrSwapMask = Field<28, 8>;
  using Compare = Field<36, 8>;
  using CompareMask = Field<44, 8>;
};

struct AtomicResponse {
  using Identifier = Field<0, 4>;
  using Original = Field<4, 8>;
};

/// 8 bytes of immediate data, of which verbs use the first four.
struct Immediate {
  using Data = Field<0, 4>;
  using Rest = Field<4, 4>;
};

struct Terminate {
  using Error = Field<0, 2>;          ///< layer (4 bits), type (4 bits), code (8 bits)
  using Control = Field<2, 2>;        ///< M, D, R, 13 reserved
  using SegmentLength = Field<4, 2>;  ///< then the headers
};

}  // namespace softrnic::wire::field
