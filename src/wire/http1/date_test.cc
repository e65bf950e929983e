#include "wire/http1/date.h"

#include <gtest/gtest.h>

namespace weir::http1 {
namespace {

TEST(Date, IsWrittenAsTheStandardDoes) {
  const struct {
    std::int64_t seconds;
    const char* line;
  } table[] = {
      {0, "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"},
      {784111777, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"},
      {951782399, "Date: Mon, 28 Feb 2000 23:59:59 GMT\r\n"},
      {951782400, "Date: Tue, 29 Feb 2000 00:00:00 GMT\r\n"},
      {253402300799, "Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n"},
  };
  for (const auto& row : table) {
    std::string out;
    append_date_header(out, row.seconds);
    append_date_header(out, row.seconds);
    EXPECT_EQ(out, std::string(row.line) + row.line);
  }
}

}  // namespace
}  // namespace weir::http1
