// Draws each chart when it comes near the screen, in the colours the reader's system asks for.
const data = JSON.parse(document.getElementById("data").textContent);
const themes = JSON.parse(document.getElementById("themes").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();

async function draw(element) {
  drawn.add(element);
  await vegaEmbed(element, data[element.dataset.chart], {
    mode: "vega-lite",
    renderer: "svg",
    config: dark.matches ? themes.dark : themes.light,
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: "headend-" + element.dataset.chart,
    tooltip: { theme: dark.matches ? "dark" : "light" },
  });
  element.dataset.drawn = "yes";
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
  }
}, { rootMargin: "600px" });
const charts = document.querySelectorAll(".chart");
charts.forEach((element) => near.observe(element));
dark.addEventListener("change", () => drawn.forEach(draw));
window.addEventListener("beforeprint", () => charts.forEach((element) => drawn.has(element) || draw(element)));
