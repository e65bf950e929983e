"""Draws docs/images/one-burst.svg and what-is-left.svg from what weir answered (test_plots.py asks).

Plain SVG with a style of its own for light and for dark, no script, nothing from elsewhere. The
same answers give the same bytes.
"""

BEGIN, END = 5, 50      # seconds that one-burst.svg shows
BIN = 0.5               # seconds that one column of dots stands for
WINDOW = 10             # seconds

STYLE = """
  .paper { fill: #ffffff; stroke: #d9dde3 } .band { fill: #f3f5f8 } .line { stroke: #d9dde3 }
  text { font: 12px system-ui, "Segoe UI", "Noto Sans", sans-serif; fill: #48505c }
  .title, .name, .number { font-weight: 600; fill: #12161c } .title, .number { font-size: 15px }
  .name { font-size: 13px } .small { font-size: 11px; fill: #68717e }
  .asked { fill: #68717e } .passed { fill: #1d6fd1 }
  .refused { fill: none; stroke: #d4572a; stroke-opacity: .75 }
  .left { fill: none; stroke: #1d6fd1; stroke-width: 2 }
  .area { fill: #1d6fd1; fill-opacity: .12 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #11151b; stroke: #2b323c } .band { fill: #181e26 } .line { stroke: #2b323c }
    text { fill: #b4bdc9 } .title, .name, .number { fill: #f0f3f7 } .small { fill: #8d97a5 }
    .asked { fill: #8d97a5 } .passed { fill: #5aa6ff } .refused { stroke: #ff8a5c }
    .left { stroke: #5aa6ff } .area { fill: #5aa6ff; fill-opacity: .18 }
  }
"""


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Drawing:
    def __init__(self, width, height, title, description):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="{description}">',
            f"<title>{description}</title>", f"<style>{STYLE}</style>",
            f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>']
        self.text(24, 32, title, "title")

    def text(self, x, y, words, style, anchor="start"):
        self.parts.append(f'<text class="{style}" x="{number(x)}" y="{number(y)}" '
                          f'text-anchor="{anchor}">{words}</text>')

    def rect(self, x, y, width, height, style):
        self.parts.append(f'<rect class="{style}" x="{number(x)}" y="{number(y)}" '
                          f'width="{number(width)}" height="{number(height)}"/>')

    def line(self, x1, y1, x2, y2, style="line"):
        self.parts.append(f'<line class="{style}" x1="{number(x1)}" y1="{number(y1)}" '
                          f'x2="{number(x2)}" y2="{number(y2)}"/>')

    def dot(self, x, y, style):
        radius = 2 if style == "refused" else 2.4
        self.parts.append(f'<circle class="{style}" cx="{number(x)}" cy="{number(y)}" r="{radius}"/>')

    def path(self, points, style, closed=False):
        steps = " L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.parts.append(f'<path class="{style}" d="M{steps}{" Z" if closed else ""}"/>')

    def __str__(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def most_in_a_window(times):
    """The most of these that lie in any span of WINDOW, its beginning not counted in."""
    return max(sum(end - WINDOW < time <= end for time in times) for end in times)


def one_burst(asked, rows):
    """asked: the moments of the calls, in seconds. rows: (name, numbers, answers) of each algorithm;
    an answer is the moment at which the call reaches the service, or None where it is refused."""
    left, step, high = 168, 6.4, 82
    width, top = 880, 82
    drawing = Drawing(width, top + high * (len(rows) + 1) + 40, "The same calls, five algorithms",
                      "What each algorithm admits of the same calls")
    drawing.text(24, 54, "Each dot is a call; a column is half a second. Ten each 10 s are allowed, "
                 "in every algorithm's own way.", "small")
    drawing.dot(27, 68, "passed")
    drawing.text(36, 72, "reaches the service, when it does", "small")
    drawing.dot(234, 68, "refused")
    drawing.text(243, 72, "refused", "small")
    drawing.text(770, 72, "admitted", "small", "end")
    drawing.text(856, 72, "most in 10 s", "small", "end")

    def place(second):
        return left + (second - BEGIN) / BIN * step

    bottom = top + high * (len(rows) + 1)
    for second in range(WINDOW, END, WINDOW):
        if second % (2 * WINDOW):
            drawing.rect(place(second), top, WINDOW / BIN * step, bottom - top, "band")
        drawing.text(place(second), bottom + 18, f"{second} s", "small", "middle")

    everything = [("what is asked", "", asked)] + list(rows)
    for index, (name, numbers, answers) in enumerate(everything):
        base = top + high * (index + 1)
        drawing.line(24, base, width - 24, base)
        middle = base - high / 2 + 4
        drawing.text(24, middle - (8 if numbers else 0), name, "name")
        drawing.text(24, middle + 9, numbers, "small")
        heights = {}
        for call, answer in zip(asked, answers):
            style = "asked" if index == 0 else "refused" if answer is None else "passed"
            column = int((call if answer is None else answer) / BIN)
            heights.setdefault(column, []).append(style)
        for column, styles in sorted(heights.items()):
            for level, style in enumerate(sorted(styles)):  # those that pass below
                drawing.dot(place(column * BIN) + step / 2, base - 7 - level * 6.6, style)
        passed = [answer for answer in answers if answer is not None]
        drawing.text(764, middle + 1, str(len(passed)), "number", "end")
        drawing.text(850, middle + 1, str(most_in_a_window(passed)), "number", "end")
    return str(drawing)


def what_is_left(drained_at, seconds, rows):
    """rows: (name, [(second, how many calls would be admitted)]) of each algorithm."""
    panel, gap, high, top = 150, 18, 110, 92
    drawing = Drawing(880, top + high + 44, "How it comes back",
                      "How many calls each algorithm has left after ten at once")
    drawing.text(24, 54, f"Ten calls at once, {drained_at} s into a window of {WINDOW} s; the line "
                 "is how many more would be admitted.", "small")
    for index, (name, samples) in enumerate(rows):
        x0, base = 34 + index * (panel + gap), top + high
        drawing.text(x0, top - 12, name, "name")

        def place(second, count):
            return x0 + second / seconds * panel, base - count / WINDOW * high

        drawing.rect(x0, top, panel, high, "band")
        for second in range(0, seconds + 1, WINDOW):
            x, _ = place(second, 0)
            drawing.line(x, top, x, base)
            drawing.text(x, base + 18, f"{second} s", "small", "middle")
        steps = [place(*samples[0])]
        for (_, before), (second, count) in zip(samples, samples[1:]):
            if count != before:
                steps += [place(second, before), place(second, count)]
        steps.append(place(*samples[-1]))
        drawing.path([(steps[0][0], base), *steps, (steps[-1][0], base)], "area", closed=True)
        drawing.path(steps, "left")
    for count in (0, 5, 10):
        drawing.text(28, top + high - count / WINDOW * high + 4, str(count), "small", "end")
    return str(drawing)
