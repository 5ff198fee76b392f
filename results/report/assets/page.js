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
  // On a narrow page names of rows take at most two fifths, and legends and titles stay within the page.
  const fitted = (spec, pixels) => {
    const narrow = pixels < 480;
    let wide = false;
    const layers = spec.layer.map((layer) => {
      const axis = layer.encoding.y?.axis;
      if (!axis?.labelLimit) return layer;
      wide = true;
      const labelLimit = Math.min(axis.labelLimit, Math.round(pixels * 0.42));
      return { ...layer, encoding: { ...layer.encoding, y: { ...layer.encoding.y, axis: { ...axis, labelLimit } } } };
    });
    // Long names stand below each other, where two of them are wider than the page.
    const names = spec.layer.flatMap((layer) => layer.encoding.color?.scale?.domain ?? []);
    const long = Math.max(0, ...names.map((name) => String(name).length)) * 7 > pixels * 0.3;
    const columns = !narrow ? 4 : wide || long ? 1 : 2;
    const legend = { ...spec.config.legend, columns, labelLimit: !narrow ? 220 : wide ? 150 : Math.round(pixels * 0.65) };
    const axisX = { ...spec.config.axisX, ...(narrow ? { titleAnchor: "end", labelFlush: 24 } : {}) };
    return { ...spec, layer: layers, config: { ...spec.config, legend, axisX } };
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
