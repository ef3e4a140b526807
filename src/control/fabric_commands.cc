#include "control/fabric_commands.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/kernel_socket.h"
#include "base/reason_id.h"
#include "control/channel.h"
#include "control/client.h"
#include "control/fabric_folder.h"
#include "control/path_socket.h"

namespace softrnic::control {
namespace {

Error fabric_gone(int error) { return make_error(no_daemon(error == 0 ? ECONNRESET : error)); }

/// 0 or a positive errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Expected<std::string, Error> read_all(int fd, std::uint64_t size) {
  if (fd < 0 || size > kMostFabricText) return Unexpected{fabric_gone(EPROTO)};
  std::string text(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = pread(fd, text.data() + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Unexpected{fabric_gone(got < 0 ? errno : EPROTO)};
    done += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace

Expected<UniqueFd, int> text_descriptor(std::string_view text) {
  UniqueFd fd(above_stdio(memfd_create("softrnic fabric", MFD_CLOEXEC)));
  if (!fd) return Unexpected{errno};
  if (const int error = write_all(fd.get(), text)) return Unexpected{error};
  return fd;
}

Expected<std::string, Error> ask_fabric(const std::string& name, std::string_view command) {
  const auto folder = fabrics_folder(false);
  if (!folder) return Unexpected{make_error(folder.error())};
  const auto socket = reach_path(command_socket(*folder, name));
  if (!socket) return Unexpected{make_error(socket.error())};
  auto request = make_message<FabricCommand>(1);
  if (!put_text(request.text, command)) return Unexpected{make_error(refuse(EINVAL, ReasonId::none))};
  if (const int error = send_datagram(socket->get(), bytes_of(request)))
    return Unexpected{fabric_gone(error)};
  std::vector<std::byte> bytes(kMaxMessage);
  Datagram datagram;
  const int error = receive_datagram(socket->get(), bytes, datagram);
  if (error != 0 || datagram.size == 0) return Unexpected{fabric_gone(error)};
  const Bytes reply = Bytes(bytes).first(datagram.size);
  if (const auto refused = parse_message<ErrorReply>(reply)) return Unexpected{error_in(*refused)};
  const auto answer = parse_message<FabricAnswer>(reply);
  if (!answer) return Unexpected{fabric_gone(EPROTO)};
  return read_all(datagram.fds[0].get(), answer->size);
}

}  // namespace softrnic::control
