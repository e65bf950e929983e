// LimitDraft: one entry of `limits` while it is read, and the parts that are read when the rest is
// known: tiers and overrides, whose numbers inherit the limit's.
//
// THREADS: see reader.h.

#pragma once

#include <optional>
#include <vector>

#include "policy/numbers.h"
#include "policy/sections.h"

namespace weir::policy {

// `limit` holds what needs no other part of it.
struct LimitDraft {
  LimitDraft(const Scope& s, Limit& l) : scope(s), limit(l) {}

  const Scope& scope;
  Limit& limit;
  std::optional<Algorithm> algorithm;
  SetDraft set;
  std::optional<std::size_t> key_parts;  // as written; absent where `key` was wrong
  Position key_at;
  std::optional<Entry> tiers;
  std::optional<Entry> overrides;
};

// One entry of `limits`, whole.
void read_limit(Reader& reader, const Entry& entry, const Scope& scope, Limit& out);

void read_tiers(Reader& reader, LimitDraft& draft);
void read_overrides(Reader& reader, LimitDraft& draft);

void document_overrides(std::vector<SectionDoc>& out);

}  // namespace weir::policy
