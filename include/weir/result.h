// Result<T>: a value, or the error that took its place.
//
// Exceptions never cross weir's interfaces; what can go wrong in operation is a value of this type
// and must be looked at. A refused request is not an error: see decision.h.
//
// THREADS: a plain value.

#pragma once

#include <string>
#include <utility>
#include <variant>

namespace weir {

enum class ErrorCode {
  kInvalid,      // the input is wrong: the caller must change it
  kNotFound,     // the thing named does not exist
  kUnsupported,  // right, but not built yet
  kUnavailable,  // a store or a peer did not answer: nothing is known of the outcome
  kExhausted,    // a stated bound was reached
  kIo,           // the operating system said no
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;  // lower case: what failed, with what value, what to do
};

// REQUIRES: value() only where has_value(), error() only where not.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace weir
