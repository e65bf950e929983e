#include "store/redis/pipeline.h"

#include <algorithm>
#include <utility>

#include "wire/resp/writer.h"

namespace weir::store::redis {

void Pipeline::add(std::string_view bytes, unsigned skip, std::int64_t deadline_ns,
                   OnOutcome done) {
  if (calls_.empty()) {
    latest_ns_ = 0;
    ascending_ = true;
  }
  ascending_ = ascending_ && deadline_ns >= latest_ns_;
  latest_ns_ = std::max(latest_ns_, deadline_ns);
  out_ += bytes;
  calls_.push_back(
      Call{std::move(done), deadline_ns, static_cast<std::uint32_t>(bytes.size()), skip});
}

void Pipeline::add_probe(std::int64_t deadline_ns) {
  if (++probes_ == 0) ++probes_;
  std::string ping;
  resp::append_command(ping, {"PING", std::to_string(probes_)});
  add(ping, 0, deadline_ns, [](const Outcome&) {});
  calls_.back().probe = probes_;
}

void Pipeline::take_output(std::string& out) {
  out.clear();
  std::swap(out, out_);
  sent_ = calls_.size();
}

bool Pipeline::receive(std::string_view bytes) {
  const bool buffered = !in_.empty();
  if (buffered) in_ += bytes;
  std::string_view data = buffered ? std::string_view(in_) : bytes;
  while (!data.empty()) {
    const resp::Progress progress = parser_.parse(data);
    if (progress == resp::Progress::kError) {
      error_ = "the server does not speak RESP: " + std::string(parser_.error());
      return false;
    }
    if (progress == resp::Progress::kNeedMore) break;
    const resp::Reply reply = parser_.reply();
    if (reply.is(resp::Type::kPush)) {
      if (push) push(reply);
    } else if (sent_ == 0) {
      error_ = "the server answered what nobody asked";
      return false;
    } else if (!take_reply(reply)) {
      error_ = "the server's answers are out of step with the calls";
      return false;
    }
    data.remove_prefix(parser_.consumed());
  }
  if (buffered) {
    in_.erase(0, in_.size() - data.size());
  } else {
    in_ = data;
  }
  return true;
}

bool Pipeline::take_reply(const resp::Reply& reply) {
  Call& call = calls_.front();
  if (call.skip > 0) {
    --call.skip;
    return true;
  }
  // An error is an answer too: of a server that is loading, or to a user who may not ask.
  if (call.probe != 0 && !reply.is_error() && reply.text() != std::to_string(call.probe)) {
    return false;
  }
  OnOutcome done = std::move(call.done);
  calls_.pop_front();
  --sent_;
  finish(done, Outcome{Ending::kReply, &reply});
  return true;
}

void Pipeline::expire(std::int64_t now_ns) {
  // Indices, since a callback may add calls at the end.
  std::size_t out_offset = 0;
  for (std::size_t i = 0; i < calls_.size();) {
    Call& call = calls_[i];
    const bool sent = i < sent_;
    if (call.done && call.deadline_ns > now_ns) {
      if (ascending_) break;
      if (!sent) out_offset += call.bytes;
      ++i;
      continue;
    }
    OnOutcome done = std::move(call.done);
    call.done = nullptr;
    if (sent) {
      ++i;
      if (done) finish(done, Outcome{Ending::kTimeout});
      continue;
    }
    out_.erase(out_offset, call.bytes);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(done, Outcome{Ending::kUnsent});
  }
}

std::int64_t Pipeline::next_deadline() const {
  std::int64_t first = kNever;
  for (const Call& call : calls_) {
    if (!call.done) continue;
    first = std::min(first, call.deadline_ns);
    if (ascending_) break;
  }
  return first;
}

void Pipeline::end_all() {
  std::deque<Call> calls = std::exchange(calls_, {});
  const std::size_t sent = std::exchange(sent_, 0);
  out_.clear();
  in_.clear();
  parser_ = resp::ReplyParser();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    finish(calls[i].done, Outcome{i < sent ? Ending::kLost : Ending::kUnsent});
  }
}

void Pipeline::finish(OnOutcome& done, Outcome outcome) {
  if (!done) return;
  if (observe) observe(outcome);
  const OnOutcome callback = std::move(done);
  callback(outcome);
}

}  // namespace weir::store::redis
