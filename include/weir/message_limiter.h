// MessageLimiter: the limits of a policy on the messages of one open WebSocket connection, for
// servers that hold their own (docs/websocket.md says what a policy may say of messages).
//
//   auto limiter = weir::MessageLimiter::make(engine, {{"user", "42"}, {"ip", peer}});
//   ...
//   const weir::MessageRuling ruling = limiter->check(text);
//   if (!ruling.passes()) return send(ruling.reply);
//
// Messages are checked in the order in which they arrive. What counts is the engine's: two
// connections of one user share the user's limits.
//
// Nothing throws but for lack of memory. THREADS: one connection, one thread at a time; connections
// of one engine, any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/engine.h"
#include "weir/export.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

namespace library {
class MessageCore;
}  // namespace library

// What is to become of one message.
struct MessageRuling {
  enum class Action : std::uint8_t {
    kPass,    // after `delay`
    kRefuse,  // not to be acted on; the client is to get `reply`
    kClose,   // the same, and then the connection is to be closed
  };

  Action action = Action::kPass;
  std::string reply;              // JSON, as the gateway would answer; may be empty with kClose
  std::uint16_t close_code = 0;   // kClose: of the close frame
  std::string_view close_reason;  // static text
  Duration delay{0};              // kPass: hold the message, and those behind it, for so long
  Decision decision;              // the engine's; of a message that could not be read, allowed

  bool passes() const { return action == Action::kPass; }
};

class WEIR_API MessageLimiter {
 public:
  // `connection`: what is known of it, as in Engine::check(). `engine` must outlive it; it may be
  // moved meanwhile.
  // ERRORS: kInvalid for an attribute that does not exist, stands twice, or cannot be read.
  static Result<MessageLimiter> make(Engine& engine, std::span<const AttributeValue> connection);
  static Result<MessageLimiter> make(Engine& engine,
                                     std::initializer_list<AttributeValue> connection) {
    return make(engine, std::span(connection.begin(), connection.size()));
  }

  MessageLimiter(MessageLimiter&& other) noexcept;
  MessageLimiter& operator=(MessageLimiter&& other) noexcept;
  ~MessageLimiter();

  // Decides one whole message, text or binary, and charges what it costs.
  MessageRuling check(std::string_view message, std::optional<Instant> now = std::nullopt);

  // The longest message that is read (`websocket.max_inspect`): a server need not gather more than
  // that and one byte to have a longer one ruled on.
  std::uint64_t max_inspect() const;

 private:
  explicit MessageLimiter(std::unique_ptr<library::MessageCore> core);
  std::unique_ptr<library::MessageCore> core_;
};

}  // namespace weir
