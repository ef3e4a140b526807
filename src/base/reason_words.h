// Figures in words: how a reason's sentence prints states, masks, opcodes and addresses.
//
// The numbers are those of the verbs ABI (infiniband/verbs.h), of the base transport header (IBTA 9.2, table
// 38) and of errno. This layer knows neither header, so tests compare the names with both.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/language.h"

namespace softrnic {

/// What a refusal is about, as a figure for the form "object".
enum class ObjectKind : std::uint8_t {
  pd,
  mr,
  cq,
  channel,
  qp,
  srq,
  ah,
  cm_id,
  membership,
  counter,
  context,
  xrc_domain,
  mw,
  dm,
  td,
  flow,
  flow_counters,
  wq,
  indirection_table
};

/// A number that exceeds its limit, as a figure for the form "cap": the fields of
/// ibv_qp_cap, ibv_srq_attr and ibv_tm_cap.
enum class CapField : std::uint8_t {
  max_send_wr,
  max_recv_wr,
  max_send_sge,
  max_recv_sge,
  max_inline_data,
  max_wr,
  max_sge,
  max_num_tags,
  max_ops,
};

/// What one user has too many of, as a figure for the form "quota".
enum class UserQuota : std::uint8_t { connections, lanes, channels, ids };

/// Verbs that are not there yet, as a figure for the form "verb".
enum class LaterVerb : std::uint8_t {
#define SOFTRNIC_LATER_VERB(name) name,
#include "base/later_verbs.def"
#undef SOFTRNIC_LATER_VERB
};

/// The text of `figure` in `form`: "" is decimal, "x" hexadecimal; the others stand in one table in the
/// source. Numbers and bits without a name are printed as such. An unknown form is decimal. In Chinese an
/// errno ends in its name, by which people look it up.
std::string figure_text(std::string_view form, std::uint64_t figure, Language in = language());

/// The same for a form that takes two figures: "gid", the two halves of a GID, in host order: "10.0.0.1" or
/// "fe80::1"; "program", see program_figures().
std::string figure_text(std::string_view form, std::uint64_t high, std::uint64_t low,
                        Language in = language());

/// The name of a program (/proc/PID/comm, 15 bytes at most) as two figures for the form "program", which
/// prints it with whatever a terminal would obey escaped. Any user chooses the names of his programs.
std::array<std::uint64_t, 2> program_figures(std::string_view name);

/// Whether `form` is known.
bool is_figure_form(std::string_view form);

}  // namespace softrnic
