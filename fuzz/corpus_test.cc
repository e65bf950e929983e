// Every committed input of every fuzzer, once: what a fuzzer found stays mended, and the fuzzers
// keep compiling where no fuzzing engine is.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#define FUZZER(name) extern "C" int weir_fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzzers.inc"
#undef FUZZER

namespace {

struct Fuzzer {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

std::ostream& operator<<(std::ostream& out, const Fuzzer& fuzzer) {
  return out << fuzzer.name;
}

const Fuzzer kFuzzers[] = {
#define FUZZER(name) {#name, &weir_fuzz_##name},
#include "fuzzers.inc"
#undef FUZZER
};

class FuzzCorpus : public testing::TestWithParam<Fuzzer> {};

TEST_P(FuzzCorpus, EveryKeptInputHolds) {
  const Fuzzer& fuzzer = GetParam();
  int inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string("fuzz/corpus/") + fuzzer.name)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    fuzzer.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++inputs;
  }
  EXPECT_GT(inputs, 0);
}

INSTANTIATE_TEST_SUITE_P(fuzz, FuzzCorpus, testing::ValuesIn(kFuzzers),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
