// Messages of an open WebSocket connection, as limits see them: a kind, the values that policies
// point at, and beneath them all that is known of the connection.
//
// Every message has a kind, if an empty one: of a message that names none, or that cannot be read,
// only limits on any kind (`message: "*"`) know.
//
// THREADS: a schema is immutable; a message belongs to one connection.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "engine/attributes.h"
#include "engine/engine.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::engine {

// What a policy reads of each message: kind, id, and every pointer that its limits name.
class MessageSchema {
 public:
  MessageSchema() = default;
  explicit MessageSchema(const policy::Policy& policy);

 private:
  friend class Message;
  static constexpr std::size_t kKind = 0;
  static constexpr std::size_t kRequestId = 1;

  std::vector<std::string> pointers_;
  JsonFields fields_;
};

class Message final : public Attributes {
 public:
  // REQUIRES: `connection` outlives it.
  explicit Message(const Attributes& connection) : connection_(connection) {}

  // Reads one message as `policy` says; what the last one held is forgotten.
  // ERRORS: kInvalid for what is no JSON, or names its kind or another value of the policy's twice;
  // then it is a message of which nothing is known.
  Result<bool> read(std::shared_ptr<const CompiledPolicy> policy, std::string_view text);
  // Makes it a message of which nothing is known, and lets the policy go.
  void clear() {
    policy_ = nullptr;
    values_.clear();
  }

  // The message's id as JSON, as it was sent; "null" where it has none, one that is no string,
  // number or boolean, or one above kMaxRequestId bytes.
  static constexpr std::size_t kMaxRequestId = 1024;
  std::string request_id() const;

  std::optional<std::string_view> find(const policy::Attribute& attribute) const override;
  std::optional<IpAddress> ip() const override { return connection_.ip(); }

 private:
  const JsonScalar* value(std::size_t index) const;

  const Attributes& connection_;
  std::shared_ptr<const CompiledPolicy> policy_;  // null: nothing is known
  std::vector<JsonScalar> values_;                // as its schema's pointers
};

// Appends what the client gets in place of a message that was refused:
//   {"type":"error","code":"RATE_LIMITED","request_id":7,"message":"...","retry_after":5}
// REQUIRES: !decision.allowed; `request_id` is JSON.
void append_message_refusal(const Decision& decision, std::string_view request_id,
                            std::string& out);
// The same for a message that could not be read (`websocket.unreadable: refuse`). `why`:
// kNotReadable or kTooLong.
void append_unreadable_refusal(std::string_view why, std::string& out);

inline constexpr std::string_view kNotReadable = "the message is not JSON, or names a value twice";
inline constexpr std::string_view kTooLong = "the message is too long to be read";
inline constexpr std::string_view kTooManyRefused = "too many refused messages";
// The close codes that go with them (RFC 6455 section 7.4.1).
inline constexpr std::uint16_t kCloseNotReadable = 1003;
inline constexpr std::uint16_t kCloseTooLong = 1009;
inline constexpr std::uint16_t kCloseTooManyRefused = 1008;

}  // namespace weir::engine
