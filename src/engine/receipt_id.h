// ReceiptIds: a receipt as a text that a caller may keep, and its way back.
//
// An id holds what was charged and when, sealed by a secret: whoever changes a byte has an id that
// is none. It needs no memory here; only that it was used is remembered, by the store (Once), until
// it ends. Instances that share counters share the secret, so that each can read what another gave.
//
//   bytes: version (1), serial (16), charged at: steady, wall (16), renewals (varint);
//          where there are renewals: since when calls in flight count: steady, wall (16);
//          of each counter that was charged:
//            flags (1): 1 numbers that came with the call, 2 the key of the one before, 4 charged
//            (or, calls in flight: renewed) at another moment than the head says
//            its name, unless 2 its key (varint length, bytes), what it was charged (varint)
//            what must be as it was for the counter to be the same one (4),
//            or with 1: rate's count, period, burst (varints)
//            with 4: by how much later it was, ns (zigzag varint)
//          seal (16): SipHash-128 of all before
//   written in base64url.
//
// Numbers are little-endian. Bounded: what would be longer than kMaxBytes has no id.
//
// THREADS: any.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/siphash.h"
#include "engine/receipt.h"
#include "weir/result.h"

namespace weir::engine {

class ReceiptIds {
 public:
  static constexpr std::size_t kMaxBytes = 16 * 1024;

  // A secret of this instance's own, until it hears of one that is shared.
  ReceiptIds();

  // From now on ids are sealed by `secret`; those sealed before can still be read.
  void share(const SipKey& secret);

  // Appends an id; nothing for an empty receipt, or a decision that charged nothing, and for what
  // is too long.
  void append(const Decision& decision, std::string& out) const;
  void append(const Receipt& receipt, std::string& out) const;

  // The receipt, its counters found in `policy`; those that count something else by now are left
  // out. ERRORS: kNotFound: the text is no id of ours, or nothing of it is left.
  Result<Receipt> open(std::string_view id, std::shared_ptr<const CompiledPolicy> policy) const;

 private:
  struct Secrets {
    SipKey now;
    SipKey before;
  };
  // Seals what was written, and appends it.
  template <typename Bytes>
  void finish(Bytes& bytes, std::string& out) const;

  std::atomic<const Secrets*> secrets_;
  std::mutex mutex_;  // guards all_
  // WHY all are kept: whoever seals pays one load. A new one comes when a shared one was lost.
  std::vector<std::unique_ptr<const Secrets>> all_;
};

}  // namespace weir::engine
