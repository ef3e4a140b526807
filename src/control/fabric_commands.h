// What `softrnic fabric` tells the process of a fabric, and what that answers: a line of words, and a text of
// JSON. By its command socket (fabric_folder.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/unique_fd.h"
#include "control/error.h"
#include "control/messages.h"

namespace softrnic::control {

/// Words with a tab between them, as names of nodes may have spaces.
struct FabricCommand {
  static constexpr MessageType kType = MessageType::fabric_command;
  Header header;
  char text[kTextSize] = {};
};
/// Fd: a memfd that has the text. Or an ErrorReply, whose text is the sentence to show.
struct FabricAnswer {
  static constexpr MessageType kType = MessageType::fabric_answer;
  Header header;
  std::uint64_t size = 0;  ///< bytes of the text, at most kMostFabricText
};
/// TCP, where a fabric listens for others that join it.
inline constexpr std::uint16_t kFabricPort = 18874;
inline constexpr std::uint64_t kMostFabricText = 256U << 20;

/// Asks the fabric `name` of this user. Errors of the fabric have its sentence.
Expected<std::string, Error> ask_fabric(const std::string& name, std::string_view command);

/// A memfd with this text. EMFILE or ENOMEM otherwise.
Expected<UniqueFd, int> text_descriptor(std::string_view text);

}  // namespace softrnic::control
