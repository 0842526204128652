// benchmark.js: the card of one benchmark: which chart shows it, what chooses another one, and its numbers.

// ---- What is drawn over what

const LINES_MAX = 8;   // That can be told apart.
const LINES_GOOD = 5;  // That are read with ease; more become panels, where an axis separates them.
const PANELS_MAX = 8;
const SUBJECTS_MAX = 12;  // Whose lines may share colours; of other words more than LINES_MAX are bars.
const ALWAYS_SAID = ['threads', 'subject', 'result', 'durability'];

// The axes that tell these rows apart. What follows from the others (the distribution of random accesses, where the
// rest are sequential) would only be said twice.
function axesOf(some) {
  const count = (axes) => new Set(some.map((row) => keyOf(row, axes))).size;
  let axes = varying(some);
  const all = count(axes);
  for (const axis of axes.toReversed()) {
    const rest = axes.filter((other) => other !== axis);
    if (rest.length > 0 && !ALWAYS_SAID.includes(axis.name) && count(rest) === all) axes = rest;
  }
  return axes;
}

// Over the longest row of numbers (sizes before threads, as papers do); over words where they are many, where they are
// chains that were timed, or where no numbers vary.
function axisAcross(some, axes) {
  const numeric = axes.filter((axis) => axis.numeric);
  const weight = (axis) => axis.values.length + (axis.name === 'threads' ? 0 : 0.5);
  const longest = numeric.toSorted((a, b) => weight(b) - weight(a))[0];
  const words = axes.filter((axis) => !axis.numeric).toSorted((a, b) => (b.name === 'subject') - (a.name === 'subject'));
  const many = (axis) => axis.values.length > (axis.name === 'subject' ? SUBJECTS_MAX : LINES_MAX);
  const chains = words.find((axis) => axis.name === 'custom_operations');
  if (chains && aboutLatency(some)) return chains;
  if (words.some(many)) return words[0];
  return longest?.values.length > 2 || words.length === 0 ? longest : words[0];
}

// What separates panels of at most LINES_MAX lines each: the axis that needs the fewest of them; threads stay together.
function axisOfPanels(some, lines) {
  const count = (rows, axes) => new Set(rows.map((row) => keyOf(row, axes))).size;
  if (count(some, lines) <= LINES_GOOD) return null;
  const linesIn = (axis) => Math.max(...axis.values.map((value) =>
    count(some.filter((row) => row[axis.name] === value), lines.filter((other) => other !== axis))));
  const able = lines.filter((axis) => axis.values.length <= PANELS_MAX && axis.name !== 'result');
  const panels = (axis) => axis.values.length + (axis.name === 'threads' ? 0.5 : 0);
  const good = able.filter((axis) => linesIn(axis) <= LINES_MAX && linesIn(axis) > 1).toSorted((a, b) => panels(a) - panels(b));
  if (good[0] || count(some, lines) <= LINES_MAX) return good[0] ?? null;
  return able.toSorted((a, b) => linesIn(a) - linesIn(b))[0] ?? null;
}

// How rows are laid out over `wanted`, or what suits them: {x, names, lines, panel}. `names` are what bars are called.
function layoutOf(some, wanted) {
  const axes = axesOf(some);
  const x = axes.find((axis) => axis.name === wanted) ?? axisAcross(some, axes);
  const rest = axes.filter((axis) => axis !== x);
  if (x?.numeric) {
    const panel = axisOfPanels(some, rest);
    return {x, names: null, panel, lines: rest.filter((axis) => axis !== panel)};
  }
  // The result of a comparison is a colour, so that the two lie side by side; so are numbers, as far as they are few.
  let lines = rest.filter((axis) => axis.numeric || axis.name === 'result');
  while (lines.reduce((product, axis) => product * axis.values.length, 1) > LINES_MAX) lines = lines.slice(0, -1);
  return {x, names: !x ? [{name: 'threads'}] : [x, ...rest.filter((axis) => !lines.includes(axis))], lines, panel: null};
}

// The two halves of a pair apart, unless each is a single bar.
function partsOf(some) {
  const parts = [...Map.groupBy(some, (row) => row.part)].map(([part, own]) => ({part, rows: own}));
  return parts.every(({rows: own}) => axesOf(own).length === 0) ? [{rows: some}] : parts;
}

// What stands in the `beside` of all rows of a half goes without saying.
for (const own of Map.groupBy(rows.filter((row) => row.part !== undefined), (row) => row.operation + '\n' + row.part).values()) {
  const common = own.map((row) => settingsBeside(row.beside))
    .reduce((left, one) => left.filter((setting) => one.includes(setting)));
  for (const row of own) row.common = common;
}

// ---- What the same does alone

// Of half a pair, the row of the same accesses by as many threads with nothing beside, preferably of the same file.
const NOT_COMPARED = ['part', 'beside', 'memory_range_bytes', 'dram_memory_range_bytes'];
const settings = (row) => keyOf(row, ['subject', 'result', 'threads', ...parameters]
  .filter((name) => !NOT_COMPARED.includes(name)).map((name) => ({name})));
const alone = Map.groupBy(rows.filter((row) => row.part === undefined && valid(row)), settings);
const known = new Map(data.results.flatMap(({document: one}) => one.benchmarks ?? []).map((one) => [one.name, one]));
const fileOf = (row) => known.get(row.operation)?.file;

function aloneOf(row) {
  if (row.part === undefined) return undefined;
  const all = alone.get(settings(row)) ?? [];
  return all.find((other) => fileOf(other) === fileOf(row)) ?? all[0];
}

// ---- Published numbers

const claimLine = (value) => (claim) => el('li', {},
  el('strong', {}, `${claim.how}${show(value, claim.value)}`),
  ` ${claim.system} on ${claim.hardware_name} (${claim.hardware}): ${claim.workload}` +
  `${claim.note ? `; ${claim.note}` : ''}. ${claim.place}, printed as ${claim.text}.`);

// ---- The chart

const choice = (label, options, current, change) => options.length < 2 ? null : el('label', {}, label,
  el('select', {onchange: (event) => change(options[event.target.value])}, ...options.map((option, i) =>
    el('option', {value: i, selected: option === current}, option.label ?? nameOf(option.name)))));
const checkbox = (label, checked, change) => {
  const box = el('input', {type: 'checkbox', checked, onchange: (event) => change(event.target.checked)});
  return el('label', {}, box, label);
};

// The charts of one half of a pair, or of the whole benchmark: a panel for each value of the axis that makes panels.
function panelsOf(own, state, value) {
  const keys = new Map();
  const {x, names, lines, panel} = layoutOf(own, state.x);
  // Bars stand in the order of their values.
  const some = names && x ? own.toSorted((a, b) => x.values.indexOf(a[x.name]) - x.values.indexOf(b[x.name])) : own;
  const claims = state.published ? claimsFor(some, value) : [];
  // They may stretch the scale a little; what lies beyond is named beside it.
  const ours = most(some.filter(valid).map((row) => middle(row, value)));
  const inside = claims.filter((claim) => state.stretch || claim.value <= 1.5 * ours);
  const scale = scaleFor(some, value, inside, state.logarithmic);
  const drawPanel = (here, across) => (width) => {
    const series = seriesOf(here, lines, keys), speaking = claims.filter((claim) => here.some((row) => speaksOf(claim, row)));
    return names ? barChart(width, {some: here, names, series, value, scale, claims: speaking, hidden: state.hidden})
      : lineChart(width, {series, across, value, scale, claims: speaking, hidden: state.hidden});
  };
  const series = seriesOf(some, lines, keys);
  return {series: lines.length > 0 ? series : [], claims, x,
    panels: (panel ? seriesOf(some, [panel]) : [{name: '', rows: some}])
      .map(({name, rows: here}) => ({name, draw: drawPanel(here, names ? null : acrossParameter(x))}))};
}

// Whether both halves of a pair do the same, each to a memory of its own: two sockets, which are read as one machine.
function twoMemories(some) {
  const region = new Map(some.map((row) => [row.part, row.region]));
  return region.size === 2 && new Set(region.values()).size === 2 &&
    some.every((row) => row.region === region.get(row.part) && row.access_kind === some[0].access_kind);
}

// What is called a latency, or chases pointers, is about that; what has an access size about bytes; the rest about
// operations.
function firstValue(some, values) {
  const fields = twoMemories(some) ? ['both_bytes_per_s'] : aboutLatency(some) ? ['mean_ns', 'ns_per_op']
    : some.some((row) => isNumber(row.access_bytes)) ? ['bytes_per_s'] : ['ops_per_s'];
  return fields.map((field) => values.find((value) => value.field === field)).find(Boolean) ?? values[0];
}

// The chart of a benchmark with what chooses its axes, its legend, what was published, and heat maps.
function chartSection(some) {
  const axes = axesOf(some), values = valuesIn(some);
  const state = {value: firstValue(some, values), x: undefined, published: true, stretch: false, logarithmic: false,
    hidden: new Set()};
  const charts = el('div', {class: 'charts'}), below = el('div');
  const what = el('summary'), controls = el('div', {class: 'controls'});
  const redraw = () => {
    const parts = partsOf(some).map(({part, rows: own}) => ({part, rows: own, ...panelsOf(own, state, state.value)}));
    const figure = (part) => ({name, draw}) => {
      const box = el('div', {class: 'chart'});
      drawn(box, draw);
      const caption = [readable('part', part), name].filter((text) => text && text !== '–').join(': ');
      return el('figure', {}, caption ? el('figcaption', {}, caption) : null, box);
    };
    charts.replaceChildren(...parts.flatMap(({part, panels, series}) =>
      [...panels.map(figure(part)), legend(series, state.hidden, redraw)]).filter(Boolean));
    const claims = [...new Set(parts.flatMap((part) => part.claims))];
    const ticked = parts.some(({x, rows: own}) => !x?.numeric && own.some((row) => aloneOf(row)));
    below.replaceChildren(...[ticked ? el('p', {class: 'dim'}, 'Upright marks: the same with nothing beside it.') : null,
      claims.length > 0 ? fold(`Published, on other hardware (${claims.length})`, el('ul', {class: 'claims'},
        ...claims.toSorted((a, b) => b.value - a.value).map(claimLine(state.value)))) : null,
      heatMaps(some, axes, state.value)].filter(Boolean));
    const across = axes.find(({name}) => name === (state.x ?? parts[0].x?.name));
    const published = claimsFor(some, state.value).length > 0;
    what.textContent = `${state.value.label}${across ? ` by ${nameOf(across.name)}` : ''} (${better(state.value)})`;
    controls.replaceChildren(...[
      choice('show', values, state.value, (value) => set({value})),
      choice('by', axes.filter((axis) => !['part', 'beside'].includes(axis.name)), across,
        (x) => set({x: x.name, hidden: new Set()})),
      checkbox('logarithmic scale', state.logarithmic, (logarithmic) => set({logarithmic})),
      published ? checkbox('published numbers', state.published, (on) => set({published: on})) : null,
      published && state.published ? checkbox('all of them on the scale', state.stretch, (stretch) => set({stretch})) : null,
    ].filter(Boolean));
  };
  const set = (change) => {
    Object.assign(state, change);
    redraw();
  };
  redraw();
  return [el('details', {class: 'change'}, what, controls), charts, below];
}

// ---- Latency under load: of the half of a pair that chases pointers, over what both halves move

const delayOf = (row) => String(row.beside).match(/ delay=(\S+)/)?.[1] ?? '';

function loadedSection(some) {
  const latency = valueOf('ns_per_op'), both = valueOf('both_bytes_per_s');
  // The name of a line is what differs beside the pause.
  const chasing = some.filter((row) => row.exec_mode === 'chase' && isNumber(middle(row, both)))
    .map((row) => ({...row, delay: delayOf(row), beside: String(row.beside).replace(/ delay=\S+/, '')}))
    .toSorted((a, b) => (numberOf(b.delay) ?? 0) - (numberOf(a.delay) ?? 0));
  if (chasing.length === 0) return chartSection(some);
  const series = seriesOf(chasing, axesOf(chasing).filter(({name}) => name !== 'delay'));
  const range = 'memory_range_bytes', alike = (row) => row[range] === chasing[0][range];
  const alone = data.results.length > 1 ? []
    : rows.filter((row) => row.part === undefined && chases(row) && row.region === chasing[0].region);
  const idle = bestOf(alone.filter(alike), latency) ?? bestOf(alone, latency);
  const otherRange = idle && idle[range] !== chasing[0][range] ? `, ${phrase(idle, range)}` : '';
  const scale = scaleFor(chasing, latency, idle ? [{value: middle(idle, latency)}] : [], false);
  const hidden = new Set(), box = el('div', {class: 'chart'});
  const redraw = drawn(box, (width) => lineChart(width, {series, value: latency, scale, hidden,
    across: acrossValue(chasing, both),
    said: (row) => numberOf(row.delay) > 0 ? readable('delay_ns', numberOf(row.delay)) : 'none',
    idle: idle && {number: middle(idle, latency), text: `idle${otherRange}: ${show(latency, middle(idle, latency))}`}}));
  return [el('p', {class: 'dim'}, 'Time of one dependent read over the bandwidth of reader and load together. ' +
    'Beside each point: the pause of the load between two accesses. Low and right is good.'),
  box, legend(series, hidden, redraw)].filter(Boolean);
}

// ---- The whole distribution, and the numbers

function latencySection(some) {
  const timed = some.filter((row) => row.latency_curve_ns?.length > 0);
  if (timed.length === 0) return [];
  const series = seriesOf(timed, axesOf(timed));
  const hidden = new Set(series.slice(LINES_MAX).map((line) => line.name)), box = el('div', {class: 'chart'});
  const redraw = drawn(box, (width) => latencyChart(width, series, hidden));
  return [fold(`The slow ones: latency by percentile (${series.length} curves)`, box, legend(series, hidden, redraw))];
}

function numbersTable(some) {
  const axes = varying(some), values = valuesIn(some), noted = some.some(note);
  const hasInterval = (value) => some.some((row) => isNumber(low(row, value)));
  const greatest = new Map(values.map((value) => [value, most(some.filter(valid).map((row) => middle(row, value)))]));
  const header = [...axes.map((axis) => nameOf(axis.name)),
    ...values.flatMap((value) => hasInterval(value) ? [value.label, 'interval'] : [value.label]),
    'repetitions', ...(noted ? ['note'] : [])];
  const cellsOf = (row, value) => {
    const text = (number) => isNumber(number) ? show(value, number, greatest.get(value) || number) : '–';
    const [least, highest] = [low(row, value), high(row, value)];
    if (!hasInterval(value)) return [text(middle(row, value))];
    return [text(middle(row, value)), isNumber(least) && isNumber(highest) ? `${text(least)} – ${text(highest)}` : ''];
  };
  const cells = (row) => [...axes.map((axis) => readable(axis.name, row[axis.name])),
    ...values.flatMap((value) => cellsOf(row, value)), row.repetitions ?? '', ...(noted ? [note(row)] : [])];
  const text = axes.flatMap((axis, i) => axis.numeric ? [] : [i]).concat(noted ? header.length - 1 : []);
  return tableOf(header, some.map((row) => ({cells: cells(row), class: !valid(row) && 'invalid'})),
    {text, name: noted && 'noted'});
}

// "Random reads by threads (van Renen et al. 2020, Fig. 4c)" is a title and its source.
const sourceOf = (text) => text.match(/ \([^()]*\b(?:19|20)\d\d\b[^()]*\)$/)?.[0] ?? '';

// What was done, in words where the file had some.
function benchmarkOf(some) {
  const [row] = some, words = known.get(row.operation)?.description;
  const plain = words || row.operation.replaceAll('_', ' ');
  const title = row.experiment && row.experiment !== plain ? `${row.experiment}: ${plain}` : plain;
  const source = sourceOf(title);
  return {title: title.slice(0, title.length - source.length), source, rows: some, operation: row.operation,
    question: questionOf(some), named: Boolean(words)};
}

function benchmarkCard({title, source, rows: some, operation, named}, id) {
  const axes = varying(some), fixed = ['threads', ...parameters].filter((name) => !axes.some((axis) => axis.name === name));
  const first = ['access_kind', 'exec_mode', 'access_bytes', 'custom_operations', 'threads', 'memory_range_bytes', 'region'];
  const place = (name) => (first.indexOf(name) + first.length + 1) % (first.length + 1);
  const common = fixed.toSorted((a, b) => place(a) - place(b)).map((name) => phrase(some[0], name)).filter(Boolean).join(', ');
  const pointers = some.some((row) => row.part !== undefined && row.exec_mode === 'chase');
  const numbers = el('details', {class: 'numbers'}, el('summary', {}, `Numbers (${some.length} rows)`), numbersTable(some));
  return card([title, source ? el('span', {class: 'source'}, source) : ''], {id, 'data-operation': operation},
    el('p', {class: 'dim'}, named ? el('code', {}, operation) : null, named && common ? ': ' : '', common),
    ...(valuesIn(some).length > 0 ? pointers ? loadedSection(some) : chartSection(some) : []), ...latencySection(some), numbers);
}
