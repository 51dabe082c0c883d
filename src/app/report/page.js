"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const colorOf = i => (isDark.matches ? ["#5aa9e6", "#ff7b72", "#56d364", "#bc9cf0", "#f0a040", "#39c5d5", "#d99a88", "#a8b0b8"]
                                        : ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#e07b00", "#0f9fb4", "#b0705f", "#808080"])[i % 8];

  // Creates an element from tag, attributes and children (elements or strings).
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
      if (name in element && name !== "style") element[name] = value; else element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  // Cache of computed styles, filled once per drawing: reading them between DOM changes would force a reflow each time.
  const styles = new Map();
  function css(name) {
    if (!styles.has(name)) styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return styles.get(name);
  }
  const alpha = (name, share) => `rgba(${css(name)}, ${Math.max(0, Math.min(1, share)).toFixed(3)})`;

  // Tooltip at the pointer.
  const tip = make("div", { id: "tip" });
  function showTip(event, content) {
    tip.replaceChildren(...content);
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10
                                                                              : event.clientY + 18) + "px";
  }
  const hideTip = () => { tip.style.display = "none"; };

  // ---- charts ----
  const drawn = [];  // redrawn when the color scheme changes: functions, and charts with their container

  // Labels at the ends of lines, moved apart so that they do not overlap.
  const endLabels = {
    id: "endLabels",
    afterDatasetsDraw(chart) {
      if (!chart.options.endLabels) return;
      const labels = [];
      chart.data.datasets.forEach((set, i) => {
        if (!set.shown) return;
        const points = chart.getDatasetMeta(i).data;
        if (!points.length) return;
        const last = points[points.length - 1];
        labels.push({ text: set.shown, color: set.borderColor, x: last.x, y: last.y });
      });
      labels.sort((a, b) => a.y - b.y);
      const area = chart.chartArea, step = 14;
      let lowest = area.top + 4;
      for (const label of labels) { label.at = Math.max(label.y, lowest); lowest = label.at + step; }
      let highest = area.bottom;
      for (const label of labels.slice().reverse()) { label.at = Math.min(label.at, highest); highest = label.at - step; }
      const pen = chart.ctx;
      pen.save();
      pen.font = "600 11px system-ui, sans-serif";
      pen.textBaseline = "middle";
      for (const label of labels) {
        pen.strokeStyle = pen.fillStyle = label.color;
        pen.globalAlpha = 0.45;
        pen.setLineDash([1, 2]);
        pen.beginPath(); pen.moveTo(Math.min(label.x, area.right), label.y); pen.lineTo(area.right + 6, label.at); pen.stroke();
        pen.globalAlpha = 1;
        pen.fillText(label.text, area.right + 9, label.at);
      }
      pen.restore();
    }
  };

  const textWidth = (() => {
    const pen = document.createElement("canvas").getContext("2d");
    return text => { pen.font = "600 11px system-ui, sans-serif"; return pen.measureText(text).width; };
  })();
  // Truncates a label so that it takes at most `most` pixels.
  function fitted(text, most) {
    if (textWidth(text) <= most) return text;
    while (text.length > 4 && textWidth(text + "…") > most) text = text.slice(0, -1);
    return text + "…";
  }

  function seriesSets(series, most) {
    const sets = [];
    let color = 0;
    series.forEach(one => {
      const dash = one.style === "dash", own = dash ? css("--soft") : colorOf(color++);
      const points = one.points.map(p => ({ x: p[0], y: p[1] }));
      if (one.points.some(p => p.length > 2)) {
        const edge = { pointRadius: 0, borderWidth: 0, showLine: true, backgroundColor: own + "2b", borderColor: own };
        sets.push({ ...edge, data: one.points.map(p => ({ x: p[0], y: p.length > 2 ? p[3] : p[1] })), fill: "+1" });
        sets.push({ ...edge, data: one.points.map(p => ({ x: p[0], y: p.length > 2 ? p[2] : p[1] })), fill: false });
      }
      sets.push({
        label: one.label, shown: fitted(one.label, most), data: points, borderColor: own, backgroundColor: own,
        showLine: one.style !== "points", borderWidth: one.style === "thin" ? 1.2 : 2,
        borderDash: dash ? [6, 4] : one.style === "thin" ? [2, 2] : [],
        pointRadius: one.style === "points" || one.style === "marked" || points.length === 1 ? 3.5 : 0, pointHitRadius: 8, tension: 0
      });
    });
    return sets;
  }

  const axis = (of, name) => ({
    type: of.log ? "logarithmic" : "linear",
    title: { display: true, text: of.label, color: css("--soft") },
    afterBuildTicks: scale => { if (of.ticks) scale.ticks = of.ticks.map(([value]) => ({ value })); },
    grid: { color: css("--line") }, ticks: { color: css("--soft"), maxTicksLimit: 8, maxRotation: 0, callback: value => {
      if (of.ticks) return (of.ticks.find(tick => tick[0] === value) || [0, ""])[1];
      if (of.log && Math.abs(Math.log10(value) % 1) > 1e-9) return "";
      if (Math.abs(value) >= 1e6) return +(value / 1e6).toPrecision(4) + " M";
      if (Math.abs(value) >= 1e4) return +(value / 1e3).toPrecision(4) + " k";
      return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(0) : +value.toPrecision(6);
    } }
  });

  // Upper limit of the y axis when a few high values would compress the rest; undefined if no limit is needed.
  function highest(series) {
    const values = series.filter(s => s.style !== "dash").flatMap(s => s.points.map(p => p[1])).filter(v => v !== null).sort((a, b) => a - b);
    if (values.length < 20) return undefined;
    const low = values[0], most = values[Math.floor(0.9 * (values.length - 1))], top = values[values.length - 1];
    const levels = Math.max(...series.filter(s => s.style === "dash").flatMap(s => s.points.map(p => p[1])), -Infinity);
    return top - low > 4 * (most - low) && most > low ? Math.max(low + 1.5 * (most - low), levels) : undefined;
  }

  function chart(block) {
    const box = make("div", { className: "chart" }), canvas = make("canvas");
    box.append(canvas);
    const draw = () => {
      const scattered = block.series.every(s => s.style === "points");
      const most = Math.max(60, Math.min(220, box.clientWidth * 0.4));
      const room = Math.max(...block.series.map(s => textWidth(fitted(s.label, most)))) + 16;
      const x = axis(block.x), y = axis(block.y);
      if (scattered) for (const of of [x, y]) { of.suggestedMin = 0; of.suggestedMax = 1; }  // probabilities
      const top = block.y.log || scattered ? undefined : highest(block.series);
      if (top !== undefined) { y.max = top; y.ticks.includeBounds = false; }  // no tick label at the cut edge
      return new Chart(canvas, {
        type: "scatter",
        data: { datasets: seriesSets(block.series, most) },
        plugins: [endLabels],
        options: {
          animation: false, maintainAspectRatio: false, endLabels: !scattered,
          layout: { padding: { right: scattered ? 8 : room } },
          interaction: { mode: "nearest", intersect: false },
          scales: { x, y },
          plugins: {
            legend: { display: scattered, labels: { color: css("--ink"), usePointStyle: true, filter: item => item.text !== undefined } },
            title: { display: true, text: block.title + (top !== undefined ? " (higher values are not shown)" : ""), color: css("--ink"), align: "start", font: { size: 13 } },
            tooltip: { filter: item => item.dataset.label !== undefined,
                       callbacks: { label: item => `${item.dataset.label}: ${+item.parsed.y.toPrecision(5)} at ${+item.parsed.x.toPrecision(5)}` } }
          }
        }
      });
    };
    drawn.push({ draw, box });
    return box;
  }

  function bars(block) {
    const box = make("div", { className: "chart", style: `height:${90 + 34 * block.bars.length}px` }), canvas = make("canvas");
    box.append(canvas);
    const whiskers = {
      id: "whiskers",
      afterDatasetsDraw(chart) {
        const pen = chart.ctx;
        pen.save(); pen.strokeStyle = css("--ink"); pen.lineWidth = 1.5;
        chart.getDatasetMeta(0).data.forEach((bar, i) => {
          const from = chart.scales.x.getPixelForValue(block.bars[i].low), to = chart.scales.x.getPixelForValue(block.bars[i].high);
          pen.beginPath(); pen.moveTo(from, bar.y); pen.lineTo(to, bar.y); pen.stroke();
          pen.fillStyle = css("--ink"); pen.font = "11px system-ui, sans-serif"; pen.textBaseline = "middle";
          pen.fillText(String(+block.bars[i].value.toPrecision(5)), Math.max(bar.x, to) + 6, bar.y);
        });
        pen.restore();
      }
    };
    drawn.push({ box, draw: () => new Chart(canvas, {
      type: "bar",
      data: { labels: block.bars.map(b => b.label), datasets: [{ data: block.bars.map(b => b.value), backgroundColor: colorOf(0) + "b0", maxBarThickness: 20 }] },
      plugins: [whiskers],
      options: { indexAxis: "y", animation: false, maintainAspectRatio: false, layout: { padding: { right: 56 } },
        scales: { x: { ...axis({ label: block.unit, log: false }), beginAtZero: true }, y: { grid: { display: false }, ticks: { color: css("--ink") } } },
        plugins: { legend: { display: false }, title: { display: true, text: block.title, color: css("--ink"), align: "start", font: { size: 13 } } } }
    }) });
    return box;
  }

  // ---- texts ----
  // Appends the symbols of a text to `box` as elements; returns them by index.
  function spell(box, block, symbols) {
    return symbols.map((symbol, i) => {
      const text = block.texts[symbol];
      const element = make("i", {}, text === "\n" ? "⏎" : text);
      if (text === "\n") element.className = "end";
      box.append(element, text === "\n" ? "\n" : block.words ? " " : "");
      element.dataset.place = i;
      return element;
    });
  }
  const placeOf = event => event.target.dataset && event.target.dataset.place !== undefined ? +event.target.dataset.place : -1;

  function surprise(block) {
    const most = 10, box = make("div", { className: "text" });
    const elements = spell(box, block, block.symbols.map(s => s[0]));
    const paint = () => elements.forEach((element, i) => {
      const bits = block.symbols[i][1];
      element.style.background = bits === null ? "" : alpha("--surprise", 0.85 * Math.max(0, Math.min(1, bits / most)));
    });
    box.addEventListener("mousemove", event => {
      const i = placeOf(event);
      if (i < 0) return hideTip();
      const [symbol, bits, guesses] = block.symbols[i];
      const rows = [];
      for (let k = 0; k < guesses.length; k += 2)
        rows.push(make("div", { className: "row" }, make("b", {}, block.names[guesses[k]]),
                       make("span", { style: `width:${Math.max(1, guesses[k + 1] * 0.09)}px` }), (guesses[k + 1] / 10).toFixed(1) + " %"));
      showTip(event, [make("div", {}, make("b", {}, block.names[symbol]), bits === null ? " was not predicted" : ` cost ${bits.toFixed(2)} bits`), ...rows]);
    });
    box.addEventListener("mouseleave", hideTip);
    drawn.push({ paint });
    const bar = make("span", { className: "bar" });
    drawn.push({ paint: () => { bar.style.background = `linear-gradient(90deg, ${alpha("--surprise", 0)}, ${alpha("--surprise", 0.85)})`; } });
    return make("div", {}, make("div", { className: "scale" }, "0 bits", bar, most + " bits and more"), box);
  }

  function neurons(block) {
    const decoded = block.units.map(unit => Int8Array.from(atob(unit.values), c => c.charCodeAt(0)));
    const chips = make("div", { className: "chips" }), box = make("div", { className: "text" });
    const tops = make("div", { className: "tops" }), facts = make("p", { className: "hint" });
    const elements = spell(box, block, block.symbols);
    let chosen = 0;
    const color = value => value < 0 ? alpha("--down", -value / 127 * 0.85) : alpha("--up", value / 127 * 0.85);
    const context = (values, i) => {
      const span = block.words ? 6 : 24;
      const text = (from, to) => block.symbols.slice(Math.max(0, from), to).map(s => block.texts[s] === "\n" ? "⏎" : block.texts[s]).join(block.words ? " " : "");
      return make("p", {}, text(i - span, i).padStart(block.words ? 0 : span) + (block.words ? " " : ""),
                  make("b", { style: `background:${color(values[i])}` }, text(i, i + 1)), (block.words ? " " : "") + text(i + 1, i + 12));
    };
    const paint = () => {
      const values = decoded[chosen], unit = block.units[chosen];
      elements.forEach((element, i) => { element.style.background = color(values[i]); });
      const order = [...values.keys()].sort((a, b) => values[b] - values[a]);
      const apart = (list, most) => {
        const found = [];
        for (const i of list) if (found.length < most && found.every(j => Math.abs(i - j) > 12)) found.push(i);
        return found;
      };
      tops.replaceChildren(make("div", {}, make("h3", {}, "highest"), ...apart(order, 6).map(i => context(values, i))),
                           make("div", {}, make("h3", {}, "lowest"), ...apart(order.reverse(), 6).map(i => context(values, i))));
      const scale = unit.most / 127, mean = values.reduce((a, b) => a + b, 0) / values.length * scale;
      facts.textContent = `${unit.name}: mean ${mean.toFixed(3)}, largest modulus ${unit.most.toFixed(3)}`;
      [...chips.children].forEach((chip, i) => chip.classList.toggle("on", i === chosen));
    };
    block.units.forEach((unit, i) => chips.append(make("button", { onclick: () => { chosen = i; paint(); } }, unit.name.replace("layer ", "").replace(", unit ", "·"))));
    box.addEventListener("mousemove", event => {
      const i = placeOf(event);
      if (i < 0) return hideTip();
      showTip(event, [make("b", {}, block.texts[block.symbols[i]]), ` ${(decoded[chosen][i] / 127 * block.units[chosen].most).toFixed(3)}`]);
    });
    box.addEventListener("mouseleave", hideTip);
    drawn.push({ paint });
    return make("div", {}, chips, facts, box, tops);
  }

  function contexts(block) {
    const rows = block.contexts.map(c => make("tr", {},
      make("td", { className: "number" }, c.bits.toFixed(2)),
      make("td", { className: "before" }, make("bdo", {}, c.before)), make("td", { className: "at" }, c.symbol), make("td", { className: "after" }, c.after),
      make("td", {}, `${c.guess} (${(100 * c.p).toFixed(0)} %)`)));
    return make("div", { className: "scroll" }, make("table", { className: "contexts" },
      make("tr", {}, ...["bits", "before", "there", "after", "first guess"].map(t => make("th", {}, t))), ...rows));
  }

  // ---- other blocks ----
  function shades(block) {
    const table = make("table"), head = make("tr", {}, make("th", {}, ""));
    block.columns.forEach(name => head.append(make("th", {}, name)));
    table.append(head);
    const cells = [];
    block.rows.forEach((name, i) => {
      const row = make("tr", {}, make("th", { className: "row" }, name));
      block.columns.forEach((column, j) => {
        const value = (block.values[i] || [])[j] || 0, cell = make("td");
        cell.onmousemove = event => showTip(event, [`${block.rowLabel} `, make("b", {}, name), `, ${block.columnLabel} `, make("b", {}, column), `: ${(100 * value).toFixed(1)} %`]);
        cell.onmouseleave = hideTip;
        cells.push([cell, value]);
        row.append(cell);
      });
      table.append(row);
    });
    drawn.push({ paint: () => cells.forEach(([cell, value]) => { cell.style.background = alpha("--shade", 0.05 + 0.95 * value); }) });
    return make("div", { className: "shades" }, block.title ? make("h3", {}, block.title) : "", table);
  }

  function tree(block) {
    const node = i => {
      const of = block.nodes[i], wrong = of.wanted && of.best && of.wanted !== of.best;
      const label = of.best ? make("span", { className: wrong ? "label wrong" : "label", title: `${(100 * of.p).toFixed(0)} % sure` },
                                   of.best + (wrong ? ` (${of.wanted})` : "")) : "";
      return make("div", { className: "node" }, label,
                  of.children.length ? make("div", { className: "children" }, ...of.children.map(node)) : make("span", { className: "word" }, of.word));
    };
    return make("div", { className: "tree" }, node(block.nodes.length - 1));
  }

  const isNumber = text => /^[-+]?[\d.,]+(e[-+]?\d+)?$/.test(text);
  function table(block) {
    const numbers = i => block.rows.every(row => isNumber(row[i]) || row[i] === "-");
    const rows = block.rows.map(row => make("tr", {}, ...row.map((cell, i) => make("td", { className: numbers(i) ? "number" : "" }, cell))));
    const all = make("div", { className: "scroll" }, make("table", {}, make("tr", {}, ...block.heading.map((h, i) => make("th", { className: numbers(i) ? "number" : "" }, h))), ...rows));
    return block.folded ? make("details", {}, make("summary", {}, block.folded), all) : all;
  }

  const kinds = {
    chart, bars, surprise, neurons, contexts, shades, tree, table,
    facts: block => make("dl", { className: "facts" }, ...block.rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    code: block => make("pre", {}, block.text),
    note: block => make("p", { className: "hint" }, block.text),
    samples: block => make("div", {}, ...block.samples.map(s => make("div", { className: "sample" }, make("span", {}, s.when), make("pre", {}, s.text)))),
    picture: block => { const box = make("div", { className: "picture" }); box.innerHTML = block.svg; return box; }
  };

  // Consecutive charts are placed side by side.
  function blocksOf(section) {
    const all = [];
    let row = null;
    for (const block of section.blocks) {
      const element = kinds[block.kind](block);
      if (block.kind !== "chart") { row = null; all.push(element); continue; }
      if (!row) all.push(row = make("div", { className: "charts" }));
      row.append(element);
    }
    return all;
  }

  const links = make("div"), main = make("main");
  const link = (id, title) => links.append(make("a", { href: "#" + id }, title));
  for (const section of page.sections.filter(section => section.blocks)) {
    link(section.id, section.title);
    main.append(make("section", { id: section.id }, make("h2", {}, section.title),
      make("p", { className: "note" }, section.note), ...blocksOf(section)));
  }
  // Sections that do not apply to this model or data are listed together, each with the reason.
  const missing = page.sections.filter(section => !section.blocks);
  if (missing.length) {
    link("missing", "Not shown");
    main.append(make("section", { id: "missing" }, make("h2", {}, "Not shown"),
      make("dl", { className: "facts" }, ...missing.flatMap(section => [make("dt", {}, section.title), make("dd", {}, section.missing)]))));
  }
  document.body.append(make("header", {}, make("h1", {}, page.title), make("p", {}, page.subtitle)), make("nav", {}, links), main,
    make("footer", {}, "Made by unfold report. " + (window.Chart ? `Plots: Chart.js ${Chart.version}, © Chart.js Contributors, MIT license.` : "")), tip);

  // Charts are drawn lazily, when they come close to the viewport, so that a page opens quickly.
  function drawChart(one) {
    if (one.chart) one.chart.destroy();
    one.chart = one.draw();
  }
  const near = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      drawChart(drawn.find(one => one.box === entry.target));
    }
  }, { rootMargin: "300px" });
  for (const one of drawn) if (one.paint) one.paint(); else near.observe(one.box);
  isDark.addEventListener("change", () => {
    styles.clear();
    for (const one of drawn) if (one.paint) one.paint(); else if (one.chart) drawChart(one);
  });
  addEventListener("beforeprint", () => { for (const one of drawn) if (one.draw && !one.chart) drawChart(one); });
})();
