"use strict";
(async () => {
  const root = document.documentElement;
  const charts = [...document.querySelectorAll(".chart")];
  const inflate = async (id) => {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  if (!charts.length) { root.dataset.drawn = "0"; return; }
  if (!("DecompressionStream" in window)) { document.querySelector(".old").hidden = false; return; }
  for (const id of ["vega", "vega-lite", "vega-embed"]) {
    const script = document.createElement("script");
    script.textContent = await inflate(id);
    document.head.append(script);
  }
  const specs = JSON.parse(await inflate("figures"));
  const width = (chart) => chart.getBoundingClientRect().width;
  // A name in lines of at most so many letters, broken between its words.
  const lines = (name, most) => name.split(/(?<=[ _-])|(?<=[a-z])(?=[A-Z])/).reduce((done, word) => {
    const last = done[done.length - 1];
    if (last !== undefined && (last + word).trimEnd().length <= most) done[done.length - 1] = last + word; else done.push(word);
    return done;
  }, []).map((line) => line.trimEnd());
  // All names on an axis, which its layers share.
  const onAxis = (spec, side) => {
    const own = spec.layer.filter((layer) => layer.encoding[side]?.type === "nominal" && layer.encoding[side].axis);
    if (own.some((layer) => layer.encoding[side].axis.labelExpr)) return [];
    return [...new Set(own.flatMap((layer) => layer.data.values.map((row) => String(row[layer.encoding[side].field]))))];
  };
  const withAxis = (layer, side, more) => layer.encoding[side]?.axis
    ? { ...layer, encoding: { ...layer.encoding, [side]: { ...layer.encoding[side], axis: { ...layer.encoding[side].axis, ...more } } } }
    : layer;
  // Long names of rows stand in several lines, and take at most two fifths. Legends and titles stay within a narrow page.
  const fitted = (spec, pixels) => {
    const narrow = pixels < 480;
    let layers = spec.layer, height = spec.height;
    // Names below a chart stand aslant, where they would run into each other.
    const isLevel = layers.some((layer) => layer.encoding.x?.axis?.labelAngle === 0);
    if (isLevel && onAxis(spec, "x").reduce((sum, name) => sum + name.length * 7 + 8, 0) > pixels - 60) {
      layers = layers.map((layer) => withAxis(layer, "x", { labelAngle: -35 }));
    }
    const most = Math.max(0, ...layers.map((layer) => layer.encoding.y?.axis?.labelLimit ?? 0));
    const wide = most > 0;
    if (wide) {
      const labelLimit = Math.min(most, Math.round(pixels * 0.42));
      const table = Object.fromEntries(onAxis(spec, "y").map((name) => [name, lines(name, Math.floor(labelLimit / 6.4))]));
      const count = Math.max(1, ...Object.values(table).map((each) => each.length));
      const own = `(${JSON.stringify(table)})[datum.label]`;
      const broken = count === 1 ? {} : {
        labelExpr: own, labelLineHeight: 12, labelOverlap: false,
        encoding: { labels: { dy: { value: { expr: `-6 * (length(${own}) - 1)` } } } },
      };
      layers = layers.map((layer) => layer.encoding.y?.axis?.labelLimit ? withAxis(layer, "y", { labelLimit, ...broken }) : layer);
      height = count === 1 ? height : Math.max(height, Object.keys(table).length * (count * 12 + 8));
    }
    // Long names stand below each other, where two of them are wider than the page.
    const names = spec.layer.flatMap((layer) => layer.encoding.color?.scale?.domain ?? []);
    const long = Math.max(0, ...names.map((name) => String(name).length)) * 7 > pixels * 0.3;
    const columns = !narrow ? 4 : wide || long ? 1 : 2;
    const legend = { ...spec.config.legend, columns, labelLimit: !narrow ? 220 : wide ? 150 : Math.round(pixels * 0.65) };
    // Beside each other, charts are too small to move the names at their ends.
    const axisX = { ...spec.config.axisX, ...(narrow ? { titleAnchor: "end", labelFlush: pixels < 240 ? 0 : 24, tickCount: 4, labelOverlap: "parity" } : {}) };
    return { ...spec, height, layer: layers, config: { ...spec.config, legend, axisX } };
  };
  const options = { actions: false, renderer: "svg", tooltip: { theme: "page" } };
  // A picture stands by itself, so names of colours become colours, and the paper is painted.
  const named = (spec) => {
    const style = getComputedStyle(root);
    const value = (name) => style.getPropertyValue(name).trim();
    const plain = JSON.parse(JSON.stringify(spec).replace(/var\((--[a-z0-9]+)\)/g, (_, name) => value(name)));
    plain.config.background = value("--paper");
    return plain;
  };
  const save = async (chart, format) => {
    const place = document.createElement("div");
    place.style.cssText = `position:absolute;left:-9999px;width:${width(chart)}px`;
    document.body.append(place);
    const { view } = await vegaEmbed(place, named(fitted(specs[chart.dataset.chart], width(chart))), options);
    const link = document.createElement("a");
    link.download = `${chart.dataset.chart}.${format}`;
    link.href = await view.toImageURL(format, format === "png" ? 2 : 1);
    link.click();
    view.finalize();
    place.remove();
  };
  for (const button of document.querySelectorAll("button[data-format]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      for (const chart of button.closest("figure").querySelectorAll(".chart")) await save(chart, button.dataset.format);
    });
  }
  let drawn = 0;
  for (const chart of charts) {
    try {
      await vegaEmbed(chart, fitted(specs[chart.dataset.chart], width(chart)), options);
    } catch (error) {
      // The other charts are drawn all the same, and the console names this one.
      chart.textContent = "This chart could not be drawn; its numbers are in the table.";
      console.error(chart.dataset.chart, String(error));
    }
    chart.style.minHeight = "0";
    root.dataset.drawn = String(++drawn);
    await new Promise((done) => setTimeout(done));
  }
  root.dataset.whole = "yes";
})();
