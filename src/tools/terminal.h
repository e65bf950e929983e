// Terminal: a screen that is drawn anew each time and gives the old one back at its end, also where
// a signal ends the program.
//
// THREADS: one; one at a time.

#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace weir::tools {

class Terminal {
 public:
  struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
  };
  enum class Key { kNone, kCharacter, kUp, kDown, kEnter, kEscape, kBackspace, kEnd };
  struct Input {
    Key key = Key::kNone;
    char character = 0;  // of kCharacter: printable ASCII
  };

  // Takes the terminal over. REQUIRES: is_one().
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Whether standard input and output are a terminal.
  static bool is_one();
  // Whether it shows characters beyond ASCII, by LC_ALL, LC_CTYPE and LANG.
  static bool shows_utf8();

  Size size() const;
  void draw(const std::vector<std::string>& lines);
  // The next key, or kNone once `patience` is over or the window has another size; kEnd where
  // there will be none.
  Input read(std::chrono::milliseconds patience);

 private:
  termios before_{};
};

}  // namespace weir::tools
