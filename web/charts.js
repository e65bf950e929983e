// The charts: uPlot, drawn in the page's own colours, light or dark, as wide as there is room.
"use strict";

const Charts = (() => {
  const HEIGHT = 200;
  const SOURCES = ["memory", "redis", "lease", "deny_cache", "local", "fail_open", "fail_closed", "exempt"];
  const SOURCE_COLOURS = ["allowed", "allowed", "focus", "quiet", "error", "denied", "denied", "quiet"];
  const LEAST_SPAN = 600;  // seconds: a program that has just begun shows no more empty room
  const HOUR = 3600;
  const charts = [];
  let end = Date.now() / 1000;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const clock = (t) => new Date(t * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const value = (_, v) => (v == null ? "–" : compact.format(v));

  const line = (label, name, filled) => ({
    label,
    stroke: () => colour(name),
    fill: filled ? () => colour(name) + "22" : undefined,
    width: 1.5,
    points: { show: false },
    value,
  });

  function axis(extra) {
    const grid = { stroke: () => colour("line"), width: 1 };
    return { stroke: () => colour("quiet"), grid, ticks: grid, ...extra };
  }

  // `read(hour)` gives the columns of a chart, time first.
  function make(element, series, read) {
    const options = {
      width: Math.max(element.clientWidth, 200),
      height: HEIGHT,
      series: [{ value: "{HH}:{mm}:{ss}" }, ...series],
      axes: [axis({ space: 70, values: (_, ticks) => ticks.map(clock) }), axis({ size: 48, values: (_, ticks) => ticks.map((t) => compact.format(t)) })],
      scales: { x: { range: (_, low) => [Math.max(end - HOUR, Math.min(low ?? end, end - LEAST_SPAN)), end] },
        y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] } },
      cursor: { drag: { setScale: false } },
    };
    const plot = new uPlot(options, [[], ...series.map(() => [])], element);
    plot.root.querySelector(".u-legend").setAttribute("aria-label", "What the lines are");
    new ResizeObserver(() => plot.setSize({ width: Math.max(element.clientWidth, 200), height: HEIGHT })).observe(element);
    charts.push({ plot, read });
  }

  function start() {
    make(document.getElementById("requests-chart"),
      [line("allowed", "allowed", true), line("refused", "denied", true), line("errors", "error", false)],
      (hour) => [hour.t, hour.allowed, hour.denied, hour.error]);
    const sources = SOURCES.map((name, i) => line(name, SOURCE_COLOURS[i], i === 0));
    make(document.getElementById("sources-chart"), sources,
      (hour) => [hour.t, ...SOURCES.map((name) => hour.sources[name])]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const { plot } of charts) plot.redraw();
    });
  }

  // `now` in seconds: where the charts end.
  function draw(hour, now) {
    end = now;
    for (const { plot, read } of charts) plot.setData(read(hour));
    const plot = charts[1].plot;
    // A source that never answered in the hour would be one more line at nothing.
    SOURCES.forEach((name, i) => {
      const show = hour.sources[name].some((v) => v > 0);
      if (plot.series[i + 1].show !== show) plot.setSeries(i + 1, { show });
      plot.root.querySelectorAll(".u-series")[i + 1].hidden = !show;
    });
  }

  return { start, draw, SOURCES };
})();
