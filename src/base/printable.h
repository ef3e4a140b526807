// Text of others - peers, file names, processes - on its way to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace softrnic {

/// `text` with everything that a terminal would act upon, or that would show it in another order than it
/// stands there, as \ooo: control characters (C0, DEL, C1), what is no UTF-8, and the invisible marks of
/// Unicode (bidirectional controls, separators, zero-width and tag characters). What is printable already
/// stays as it is.
std::string printable(std::string_view text);

}  // namespace softrnic
