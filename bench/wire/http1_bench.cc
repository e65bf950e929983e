// How long heads take to parse: the two requests that the design's figures are stated for, and a
// response.

#include <benchmark/benchmark.h>

#include "wire/http1/request.h"
#include "wire/http1/response.h"

namespace weir::http1 {
namespace {

constexpr std::string_view kSmallGet =
    "GET /v1/check?key=user-42 HTTP/1.1\r\n"
    "Host: a.test\r\n\r\n";

constexpr std::string_view kBrowserRequest =
    "POST /api/orders/1234/items HTTP/1.1\r\n"
    "Host: shop.example.test\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: application/json, text/plain, */*\r\n"
    "Accept-Language: en-US,en;q=0.7,de;q=0.3\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 21\r\n"
    "Origin: https://shop.example.test\r\n"
    "Connection: keep-alive\r\n"
    "Cookie: session=0f8fad5bd9cb469fa16570867728950e; theme=dark\r\n"
    "\r\n";

constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\n"
    "Server: nginx/1.22.1\r\n"
    "Date: Mon, 30 Nov 2026 10:00:00 GMT\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 612\r\n"
    "Connection: keep-alive\r\n"
    "\r\n";

template <typename Parser>
void parse(benchmark::State& state, std::string_view text) {
  Parser parser;
  for (auto _ : state) {
    benchmark::DoNotOptimize(text);
    if (parser.parse(text) != Progress::kComplete) state.SkipWithError("does not parse");
    benchmark::DoNotOptimize(parser.head());
    parser.reset();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void small_get(benchmark::State& state) {
  parse<RequestParser>(state, kSmallGet);
}
void browser_request(benchmark::State& state) {
  parse<RequestParser>(state, kBrowserRequest);
}
void response(benchmark::State& state) {
  parse<ResponseParser>(state, kResponse);
}

BENCHMARK(small_get);
BENCHMARK(browser_request);
BENCHMARK(response);

}  // namespace
}  // namespace weir::http1

BENCHMARK_MAIN();
