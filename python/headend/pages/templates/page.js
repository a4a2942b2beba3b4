// Draws the charts, those near the screen first, in the colours that the reader's system asks for and fitted to the room there is.
const data = JSON.parse(document.getElementById("data").textContent);
const themes = JSON.parse(document.getElementById("themes").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

// Pixels: what counts as a narrow chart; heights of charts; what one letter takes, a legend's symbol with its gaps and without, an axis with its title, the marks beside an axis's names, the menu's button beside the chart, and what stands above and below a plot.
const NARROW = 480, HEIGHT = { wide: 260, first: 300, narrow: 220, least: 170 };
const LETTER = 6.5, SYMBOL = 30, BARE = 10, AXIS = 64, TICKS = 12, DOTS = 32, BESIDES = 110;

// A packed column is a list of values, runs of equal ones, or a block that is repeated.
function unpackColumn(column) {
  if (column.runs) return column.runs.flatMap(([value, count]) => Array(count).fill(value));
  if (column.block) return Array(column.times).fill(column.block).flat();
  return column;
}

function unpackRows({ count, columns }) {
  const rows = Array.from({ length: count }, () => ({}));
  for (const [name, column] of Object.entries(columns))
    unpackColumn(column).forEach((value, place) => { rows[place][name] = value; });
  return rows;
}

function wrap(text, letters) {
  const lines = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] += " " + word;
    else for (let start = 0; start < word.length; start += letters) lines.push(word.slice(start, start + letters));
  }
  return lines;
}

// As many columns as the longest name leaves room for; a name that is too long gets several lines.
function fitLegend(channel, width) {
  const names = (channel.legend?.values ?? channel.scale?.domain ?? []).map(String);
  if (!channel.legend || !names.length) return;
  const legend = channel.legend;
  const symbol = SYMBOL + Math.sqrt(legend.symbolSize ?? BARE ** 2) - BARE;
  const widest = symbol + LETTER * Math.max(...names.map(name => name.length));
  legend.columns = Math.max(1, Math.min(Math.floor(width / widest), names.length, legend.columns ?? names.length));
  legend.labelLimit = 0;
  if (widest <= width || legend.labelExpr || legend.format) return;
  const letters = Math.max(1, Math.floor((width - symbol) / LETTER));
  const long = names.filter(name => name.length > letters).map(name => [name, wrap(name, letters)]);
  legend.labelExpr = `(${JSON.stringify(Object.fromEntries(long))})[datum.label] || datum.label`;
}

function fit(part, width, height) {
  for (const inner of [...(part.layer ?? []), ...(part.vconcat ?? [])]) fit(inner, width, height);
  const encoding = part.encoding ?? {};
  for (const name of ["color", "strokeDash", "shape"]) if (encoding[name]) fitLegend(encoding[name], width);
  for (const [name, room] of [["x", width], ["y", height]]) {
    const title = encoding[name]?.title;
    if (typeof title === "string" && title.length * LETTER > room) encoding[name].title = wrap(title, Math.floor(room / LETTER));
  }
}

// What stands to the left of the plot: the names along the side, where there are any.
function measureSide(part) {
  const { scale, sort } = part.encoding?.y ?? {};
  const names = [scale?.domain, sort].flat().filter(name => typeof name === "string");
  const inner = [...(part.layer ?? []), ...(part.vconcat ?? [])].map(measureSide);
  return Math.max(AXIS, TICKS + LETTER * Math.max(0, ...names.map(name => name.length)), ...inner);
}

// The chart of the first screen ends where the screen does, if that leaves it high enough.
function chooseHeight(element) {
  const isNarrow = element.clientWidth < NARROW;
  if (!element.closest(".why")) return isNarrow ? HEIGHT.narrow : HEIGHT.wide;
  const room = innerHeight - element.getBoundingClientRect().top - scrollY - BESIDES;
  return Math.min(isNarrow ? HEIGHT.narrow : HEIGHT.first, Math.max(HEIGHT.least, Math.floor(room)));
}

function specify(element) {
  const specification = structuredClone(data[element.dataset.chart]);
  for (const [name, packed] of Object.entries(specification.datasets ?? {})) specification.datasets[name] = unpackRows(packed);
  const share = specification.usermeta?.heightToWidth;
  if (share) specification.height = Math.round(share * (element.clientWidth - DOTS));
  specification.height ??= chooseHeight(element);
  fit(specification, element.clientWidth - measureSide(specification) - DOTS, specification.height);
  return specification;
}

// On a narrow chart, legends of several kinds stand below each other.
function configure(element) {
  const theme = dark.matches ? themes.dark : themes.light;
  if (element.clientWidth >= NARROW) return theme;
  return { ...theme, legend: { ...theme.legend, layout: { top: { direction: "vertical", anchor: "start" } } } };
}

const widths = new Map();

async function draw(element) {
  widths.set(element, element.clientWidth);
  await vegaEmbed(element, specify(element), {
    mode: "vega-lite",
    renderer: "svg",
    config: configure(element),
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: "headend-" + element.dataset.chart,
    tooltip: { theme: dark.matches ? "dark" : "light" },
  });
}

const waiting = new Set();
let isDrawing = false;

// What is folded is drawn when it is opened.
function chooseNext() {
  const shown = [...waiting].filter(element => !element.closest("details:not([open])"));
  const isNear = ({ top, bottom }) => bottom > 0 && top < 1.5 * innerHeight;
  return shown.find(element => isNear(element.getBoundingClientRect())) ?? shown[0];
}

async function drawAll() {
  if (isDrawing) return;
  isDrawing = true;
  for (let element = chooseNext(); element; element = chooseNext()) {
    waiting.delete(element);
    await draw(element);
    await new Promise(resolve => setTimeout(resolve));
  }
  isDrawing = false;
  document.body.dataset.drawn = "yes";
}

function drawAgain(elements) {
  for (const element of elements) waiting.add(element);
  drawAll();
}

let resized;
function fitAgain() {
  clearTimeout(resized);
  resized = setTimeout(() => drawAgain([...widths.keys()].filter(element => Math.abs(widths.get(element) - element.clientWidth) > 40)), 200);
}

// Paper has no folds: they are opened where there are charts, which are drawn without a pause, and closed again afterwards.
let unfolded = [];
function unfold() {
  unfolded = [...document.querySelectorAll("details:not([open]):has(.chart)")].filter(fold => !fold.closest(".chart"));
  for (const fold of unfolded) fold.open = true;
  for (const element of waiting) draw(element);
  waiting.clear();
}

function foldAgain() {
  for (const fold of unfolded) fold.open = false;
  unfolded = [];
}

drawAgain(document.querySelectorAll(".chart"));
addEventListener("beforeprint", unfold);
addEventListener("afterprint", foldAgain);
document.addEventListener("toggle", drawAll, true);
dark.addEventListener("change", () => drawAgain(widths.keys()));
addEventListener("resize", fitAgain);
