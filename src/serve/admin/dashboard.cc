#include "serve/admin/dashboard.h"

#include <string_view>

#include "web_assets.h"

namespace weir::admin {
namespace {

struct Asset {
  std::string_view path;
  std::string_view content_type;
  std::string_view bytes;
};

constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr std::string_view kStyle = "text/css; charset=utf-8";

constexpr Asset kAssets[] = {
    {"/", "text/html; charset=utf-8", web::kIndexHtml},
    {"/dashboard.js", kScript, web::kDashboardJs},
    {"/charts.js", kScript, web::kChartsJs},
    {"/dashboard.css", kStyle, web::kDashboardCss},
    {"/vendor/uPlot.js", kScript, web::kUplotJs},
    {"/vendor/uPlot.css", kStyle, web::kUplotCss},
};

// Nothing comes from elsewhere, nothing runs that is not a file of ours, nobody frames the page.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void answer(const Asset& asset, http::Response& response) {
  response.content_type = asset.content_type;
  response.body = asset.bytes;
  response.add_header("Cache-Control", "no-cache");
  response.add_header("Content-Security-Policy", kContentSecurityPolicy);
  response.add_header("X-Content-Type-Options", "nosniff");
  response.add_header("Referrer-Policy", "no-referrer");
}

}  // namespace

void add_dashboard(Router& router) {
  for (const Asset& asset : kAssets) {
    router.show(std::string(asset.path), Shown::kToAll,
                http::Handler([&asset](const http::Request&, http::Response& response) {
                  answer(asset, response);
                }));
  }
}

}  // namespace weir::admin
