#include "app/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/file_descriptor.h"

namespace weir::app {

void tell_service_manager(std::string_view state) {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return;
  const std::string_view path(name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // "@name" is a socket without a file, whose path begins with a zero byte.
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  if (path[0] != '/' && path[0] != '@') return;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace weir::app
