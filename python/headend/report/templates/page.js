// Draws the charts from top to bottom, in the colours the reader's system asks for.
const data = JSON.parse(document.getElementById("data").textContent);
const themes = JSON.parse(document.getElementById("themes").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

async function drawAll() {
  for (const element of document.querySelectorAll(".chart")) {
    await vegaEmbed(element, data[element.dataset.chart], {
      mode: "vega-lite",
      renderer: "svg",
      config: dark.matches ? themes.dark : themes.light,
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: "headend-" + element.dataset.chart,
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
  }
  document.body.dataset.drawn = "yes";
}

drawAll();
dark.addEventListener("change", drawAll);
