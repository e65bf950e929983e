#include "engine/receipt_id.h"

#include <cstring>
#include <deque>
#include <utility>

#include "base/base64url.h"
#include "engine/compiled_policy.h"

namespace weir::engine {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kSealBytes = 16;
constexpr std::uint8_t kAdhoc = 1;
constexpr std::uint8_t kSameKey = 2;
constexpr std::uint8_t kApart = 4;

// Unique among all instances: a random number of this thread's, and a count.
Hash128 next_serial() {
  thread_local const SipKey prefix = random_sip_key();
  thread_local std::uint64_t count = 0;
  return {prefix.k0 ^ ++count, prefix.k1};
}

// The most that what has no text of its own takes: the head and the seal, and each counter.
constexpr std::size_t kMaxHead = 1 + 16 + 16 + 10 + 16 + kSealBytes;
constexpr std::size_t kMaxCounter = 1 + 7 * 10;

// Room of this thread for at least `most` bytes. WHY measured beforehand: a string would look at
// its room for every byte.
class Room {
 public:
  explicit Room(std::size_t most) {
    if (room_.size() < most) room_.resize(most);
  }
  ~Room() {
    if (room_.size() > ReceiptIds::kMaxBytes) std::string().swap(room_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  char* data() { return room_.data(); }

 private:
  static thread_local std::string room_;
};
thread_local std::string Room::room_;

// Writes into room that is large enough.
class Writer {
 public:
  explicit Writer(char* begin) : begin_(begin), at_(begin) {}

  std::string_view written() const { return {begin_, static_cast<std::size_t>(at_ - begin_)}; }

  void byte(std::uint8_t value) { *at_++ = static_cast<char>(value); }
  void word(std::uint64_t value) { add_bytes(value); }
  void word32(std::uint32_t value) { add_bytes(value); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  // Small ones of either sign are short.
  void signed_varint(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    varint(value.size());
    std::memcpy(at_, value.data(), value.size());
    at_ += value.size();
  }
  void instant(Instant at) {
    word(static_cast<std::uint64_t>(at.steady_ns));
    word(static_cast<std::uint64_t>(at.wall_ns));
  }

 private:
  // Little-endian, as the machine has them (base/siphash.cc).
  template <typename Word>
  void add_bytes(Word value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }

  const char* begin_;
  char* at_;
};

// Reads what a Writer wrote; once something is missing, good() is false and all else is 0.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

  std::uint8_t byte() { return static_cast<std::uint8_t>(word(1)); }
  std::uint64_t word(std::size_t bytes = 8) {
    const std::string_view read = take(bytes);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < read.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(read[i])} << (8 * i);
    }
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7fu} << shift;
      if (next < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  std::int64_t signed_varint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  std::string_view text() { return take(varint()); }
  Instant instant() {
    const auto steady = static_cast<std::int64_t>(word());
    return {steady, static_cast<std::int64_t>(word())};
  }

 private:
  std::string_view take(std::uint64_t bytes) {
    good_ = good_ && bytes <= rest_.size();
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
  bool good_ = true;
};

Hash128 seal_of(const SipKey& secret, std::string_view bytes) {
  SipHash hash(secret);
  hash.add(bytes);
  return hash.finish();
}

// In the same time whatever is wrong.
bool is_sealed_by(const SipKey& secret, std::string_view bytes, const Hash128& seal) {
  const Hash128 right = seal_of(secret, bytes);
  return ((right.low ^ seal.low) | (right.high ^ seal.high)) == 0;
}

void write_head(Writer& out, const Hash128& serial, Instant at, std::uint32_t renewals,
                Instant places_at) {
  out.byte(kVersion);
  out.word(serial.low);
  out.word(serial.high);
  out.instant(at);
  out.varint(renewals);
  if (renewals > 0) out.instant(places_at);
}

// The counters of one id, one after the other.
class CounterWriter {
 public:
  explicit CounterWriter(Writer& out) : out_(out) {}

  void add(std::string_view counter, std::string_view key, std::uint64_t cost, std::uint32_t shape,
           Duration apart) {
    const bool is_apart = apart != Duration{0};
    name(is_apart ? kApart : 0, counter, key);
    out_.varint(cost);
    out_.word32(shape);
    if (is_apart) out_.signed_varint(apart.count());
  }
  void add_adhoc(std::string_view counter, std::string_view key, std::uint64_t cost,
                 const TokenBucket& numbers) {
    name(kAdhoc, counter, key);
    out_.varint(cost);
    out_.varint(numbers.rate.count);
    out_.varint(static_cast<std::uint64_t>(numbers.rate.period.count()));
    out_.varint(numbers.burst);
  }
  bool any() const { return any_; }

 private:
  void name(std::uint8_t flags, std::string_view counter, std::string_view key) {
    const bool same_key = any_ && key == key_;
    out_.byte(flags | (same_key ? kSameKey : 0));
    out_.text(counter);
    if (!same_key) out_.text(key);
    key_ = key;
    any_ = true;
  }

  Writer& out_;
  std::string_view key_;
  bool any_ = false;
};

// The names and keys of a receipt, those that stand once for several counters as often.
std::size_t bytes_of(const Charged& charged) {
  std::size_t bytes = 0;
  for (const TakenFrom& one : charged.taken) bytes += one.counter_size + one.key_size;
  return bytes;
}

class Opener {
 public:
  Opener(std::string_view bytes, std::shared_ptr<const CompiledPolicy> policy)
      : in_(bytes), kept_(std::make_shared<Kept>()), charged_(std::make_shared<Charged>()) {
    kept_->policy = std::move(policy);
  }

  // Null where the bytes are not what was written.
  std::shared_ptr<Charged> read() {
    if (in_.byte() != kVersion) return nullptr;
    charged_->from_id = true;
    charged_->serial.low = in_.word();
    charged_->serial.high = in_.word();
    charged_->at = charged_->places_at = in_.instant();
    charged_->renewals = static_cast<std::uint32_t>(in_.varint());
    if (charged_->renewals > 0) charged_->places_at = in_.instant();
    for (std::size_t i = 0; i < store::kMaxCharges && in_.good() && !in_.at_end(); ++i) {
      read_taken();
    }
    if (!in_.at_end()) return nullptr;
    charged_->rules = kept_;
    return charged_;
  }

 private:
  struct Kept {
    std::shared_ptr<const CompiledPolicy> policy;
    std::deque<limit::Rule> adhoc;  // stay where they are
  };

  void read_taken() {
    const std::uint8_t flags = in_.byte();
    const std::string_view counter = in_.text();
    if ((flags & kSameKey) == 0) key_ = in_.text();
    TakenFrom taken;
    taken.cost = in_.varint();
    if ((flags & kAdhoc) != 0) {
      read_numbers(taken);
    } else {
      const auto shape = static_cast<std::uint32_t>(in_.word(4));
      const Counter* found = find_counter(*kept_->policy, counter, key_, shape, taken.limit);
      if (found != nullptr) taken.rule = &found->rule;
    }
    if ((flags & kApart) != 0) taken.apart = Duration(in_.signed_varint());
    if (in_.good() && taken.rule != nullptr) charged_->add(taken, counter, key_);
  }

  void read_numbers(TakenFrom& taken) {
    TokenBucket numbers;
    numbers.rate.count = in_.varint();
    numbers.rate.period = Duration(static_cast<std::int64_t>(in_.varint()));
    numbers.burst = in_.varint();
    numbers.keeps_time = true;
    auto rule = limit::Rule::make(numbers);
    if (!in_.good() || !rule) return;
    taken.rule = &kept_->adhoc.emplace_back(*std::move(rule));
  }

  Reader in_;
  std::shared_ptr<Kept> kept_;
  std::shared_ptr<Charged> charged_;
  std::string_view key_;
};

Error no_id() {
  return Error{ErrorCode::kNotFound,
               "there is no decision of this id here: it was changed, or its counters are gone"};
}

}  // namespace

ReceiptIds::ReceiptIds() {
  const SipKey secret = random_sip_key();
  all_.push_back(std::make_unique<const Secrets>(Secrets{secret, secret}));
  secrets_.store(all_.back().get(), std::memory_order_release);
}

void ReceiptIds::share(const SipKey& secret) {
  const std::lock_guard lock(mutex_);
  const SipKey now = all_.back()->now;
  if (now.k0 == secret.k0 && now.k1 == secret.k1) return;
  all_.push_back(std::make_unique<const Secrets>(Secrets{secret, now}));
  secrets_.store(all_.back().get(), std::memory_order_release);
}

template <typename Bytes>
void ReceiptIds::finish(Bytes& bytes, std::string& out) const {
  if (bytes.written().size() > kMaxBytes) return;
  const SipKey& secret = secrets_.load(std::memory_order_acquire)->now;
  const Hash128 seal = seal_of(secret, bytes.written());
  bytes.word(seal.low);
  bytes.word(seal.high);
  append_base64url(out, bytes.written());
}

void ReceiptIds::append(const Decision& decision, std::string& out) const {
  std::size_t most = kMaxHead;
  bool any = false;
  // A local share is no other instance's business.
  const auto for_each = [&decision](auto see) {
    for_each_charged(decision, [&see](const LimitDecision& one, const Counter& counter) {
      if (one.source != Source::kLocal) see(one, counter);
    });
  };
  for_each([&](const LimitDecision& one, const Counter& counter) {
    most += kMaxCounter + counter.name.size() + one.key_size;
    any = true;
  });
  if (!any) return;
  Room room(most);
  Writer writer(room.data());
  write_head(writer, next_serial(), decision.at, 0, {});
  CounterWriter counters(writer);
  for_each([&](const LimitDecision& one, const Counter& counter) {
    counters.add(counter.name, decision.key_of(one), one.cost, counter.shape, one.apart);
  });
  finish(writer, out);
}

void ReceiptIds::append(const Receipt& receipt, std::string& out) const {
  if (receipt.empty()) return;
  Charged& charged = *receipt.charged();
  Room room(kMaxHead + charged.taken.size() * kMaxCounter + bytes_of(charged));
  Writer writer(room.data());
  const std::lock_guard lock(charged.mutex);
  write_head(writer, charged.from_id ? charged.serial : next_serial(), charged.at, charged.renewals,
             charged.places_at);
  CounterWriter counters(writer);
  for (const TakenFrom& one : charged.taken) {
    if (one.local) continue;
    const Numbers& numbers = one.rule->numbers();
    if (one.limit == nullptr) {
      counters.add_adhoc(charged.counter(one), charged.key(one), one.cost,
                         std::get<TokenBucket>(numbers));
    } else {
      counters.add(charged.counter(one), charged.key(one), one.cost, shape_of(numbers), one.apart);
    }
  }
  if (counters.any()) finish(writer, out);
}

Result<Receipt> ReceiptIds::open(std::string_view id,
                                 std::shared_ptr<const CompiledPolicy> policy) const {
  if (id.size() > 2 * kMaxBytes) return no_id();
  const auto bytes = decode_base64url(id);
  if (!bytes || bytes->size() <= kSealBytes) return no_id();
  const std::string_view sealed = std::string_view(*bytes).substr(0, bytes->size() - kSealBytes);
  Reader reader(std::string_view(*bytes).substr(sealed.size()));
  Hash128 seal;
  seal.low = reader.word();
  seal.high = reader.word();
  const Secrets& secrets = *secrets_.load(std::memory_order_acquire);
  if (!is_sealed_by(secrets.now, sealed, seal) && !is_sealed_by(secrets.before, sealed, seal)) {
    return no_id();
  }
  auto charged = Opener(sealed, std::move(policy)).read();
  if (!charged || charged->taken.empty()) return no_id();
  return Receipt(std::move(charged));
}

}  // namespace weir::engine
