#include "store/memory/key_sample.h"

#include <gtest/gtest.h>

#include <set>

#include "base/keyed_hash.h"
#include "store/memory/memory_store.h"

namespace weir::store {
namespace {

const KeyedHash kHash(SipKey{1, 2});

Hash128 id_of(int number) {
  return kHash("counter", std::to_string(number));
}

TEST(KeySample, CountsExactlyUpToItsBound) {
  KeySample sample;
  for (int i = 0; i < 1000; ++i) sample.add(id_of(i), i % 4 == 0 ? "a" : "b");
  sample.add(id_of(0), "a");  // comes again
  const auto counts = sample.count([](const Hash128&) { return true; });
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"a", 250}, {"b", 750}}));
}

TEST(KeySample, EstimatesWhatIsMore) {
  KeySample sample;
  constexpr int kKeys = 1'000'000;
  for (int i = 0; i < kKeys; ++i) sample.add(id_of(i), i % 10 == 0 ? "few" : "many");
  auto counts = sample.count([](const Hash128&) { return true; });
  EXPECT_NEAR(static_cast<double>(counts["few"]), 0.1 * kKeys, 0.01 * kKeys);
  EXPECT_NEAR(static_cast<double>(counts["many"]), 0.9 * kKeys, 0.04 * kKeys);
}

TEST(KeySample, ForgetsKeysThatAreGoneAndIsExactAgain) {
  KeySample sample;
  for (int i = 0; i < 100'000; ++i) sample.add(id_of(i), "flood");
  const auto none = [](const Hash128&) { return false; };
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(sample.count(none).empty());
  for (int i = 0; i < 100; ++i) sample.add(id_of(i), "calm");
  EXPECT_EQ(sample.count([](const Hash128&) { return true; })["calm"], 100u);
}

TEST(KeySample, SeesWhatAMemoryStoreHolds) {
  MemoryStore store;
  const auto rule = limit::Rule::make(TokenBucket{Rate{1, std::chrono::seconds(1)}, 5});
  const auto take = [&](std::string_view counter, int key, std::uint64_t cost, Instant now) {
    const std::string text = std::to_string(key);
    const Charge charge{&*rule, counter, text, cost};
    Answer answer;
    store.charge_now({&charge, 1}, now, {&answer, 1});
  };
  const Instant start = at_ns(1'700'000'000'000'000'000);
  for (int key = 0; key < 30; ++key) take("login", key, 1, start);
  for (int key = 0; key < 20; ++key) take("query@tier:gold", key, 2, start);
  take("login", 99, 0, start);  // a look creates nothing
  EXPECT_EQ(store.keys_by_counter(),
            (std::map<std::string, std::uint64_t>{{"login", 30}, {"query@tier:gold", 20}}));
  store.sweep(start + std::chrono::milliseconds(1500));
  EXPECT_EQ(store.keys_by_counter(),
            (std::map<std::string, std::uint64_t>{{"query@tier:gold", 20}}));
}

}  // namespace
}  // namespace weir::store
