// page.js: the sections of the report, and the page from them.

// ---- One benchmark

function numbersTable(some, axes) {
  const values = valuesIn(some), noted = some.some(note);
  const hasInterval = (value) => some.some((row) => isNumber(low(row, value)));
  const header = [...axes.map((axis) => nameOf(axis.name)),
    ...values.flatMap((value) => hasInterval(value) ? [value.label, 'interval'] : [value.label]),
    'repetitions', ...(noted ? ['note'] : [])];
  const cellsOf = (row, value) => {
    const [number, least, most] = [middle(row, value), low(row, value), high(row, value)];
    const text = isNumber(number) ? value.format(number) : '–';
    if (!hasInterval(value)) return [text];
    return [text, isNumber(least) && isNumber(most) ? `${value.format(least)} – ${value.format(most)}` : ''];
  };
  const cells = (row) => [...axes.map((axis) => readable(axis.name, row[axis.name])),
    ...values.flatMap((value) => cellsOf(row, value)), row.repetitions ?? '', ...(noted ? [note(row)] : [])];
  const text = axes.flatMap((axis, i) => axis.numeric ? [] : [i]).concat(noted ? header.length - 1 : []);
  return tableOf(header, some.map((row) => ({cells: cells(row), class: !valid(row) && 'invalid'})),
    {text, name: noted && 'noted'});
}

function claimsTable(claims) {
  return el('details', {open: claims.length < 8}, el('summary', {}, 'Published numbers (dashed), on other hardware'),
    tableOf(['value', 'system', 'hardware', 'measured as', 'in'],
      claims.map((claim) => [claim.text, claim.system, claim.hardware, claim.workload, claim.place]), {text: [1, 2, 3, 4]}));
}

function latencySection(some) {
  const timed = some.filter((row) => row.latency_curve_ns?.length > 0);
  if (timed.length === 0) return [];
  const axes = varying(timed).toReversed();
  const series = timed.map((row, index) => ({name: seriesName(row, axes), rows: [row], index}));
  const hidden = new Set(series.slice(12).map((line) => line.name)), box = el('div', {class: 'chart'});
  const redraw = drawn(box, (width) => latencyChart(width, series, hidden));
  return [el('h3', {}, 'latency of single operations'), box, legend(series, hidden, redraw)];
}

const choice = (label, options, current, change) => options.length < 2 ? null : el('label', {}, label,
  el('select', {onchange: (event) => change(options[event.target.value])}, ...options.map((option, i) =>
    el('option', {value: i, selected: option === current}, option.label ?? nameOf(option.name)))));
const checkbox = (label, checked, change) => {
  const box = el('input', {type: 'checkbox', checked, onchange: (event) => change(event.target.checked)});
  return {box, label: el('label', {}, box, label)};
};

// The chart of a benchmark with what chooses its axes, its legend, what was published, and heat maps.
function chartSection(some, axes, values) {
  // What is called a latency is about that, what has an access size about bytes, the rest about operations.
  const about = some[0].operation.includes('latency') ? 'mean_ns'
    : some.some((row) => isNumber(row.access_bytes)) ? 'bytes_per_s' : 'ops_per_s';
  const longest = axes.filter((axis) => axis.numeric).toSorted((a, b) => b.values.length - a.values.length)[0];
  const state = {value: values.find(({field}) => field === about) ?? values[0],
    x: longest ?? axes[0], published: true, powers: false, hidden: new Set()};
  const claims = () => state.published ? claimsFor(some, state.value) : [];
  // Where others measured several times as much, a linear scale would press ours against the axis.
  const farApart = () => {
    const ours = Math.max(...some.filter(valid).map((row) => middle(row, state.value)).filter(isNumber), 0);
    return claims().some((claim) => claim.value > 4 * ours || claim.value < ours / 20);
  };
  state.powers = farApart();
  const chart = el('div', {class: 'chart'}), below = el('div');
  const redraw = drawn(chart, (width) => lineChart(width, {...state, series: seriesOf(some, axes, state.x), claims: claims()}));
  const changed = () => {
    redraw();
    const heat = heatMaps(some, axes, state.value);
    below.replaceChildren(legend(seriesOf(some, axes, state.x), state.hidden, redraw),
      ...(claims().length > 0 ? [claimsTable(claims())] : []), ...(heat ? [heat] : []));
  };
  const set = (change, scaleToo) => {
    Object.assign(state, change);
    if (scaleToo) state.powers = powers.box.checked = farApart();
    changed();
  };
  const powers = checkbox('scale of powers', state.powers, (on) => set({powers: on}));
  const published = checkbox('published numbers', true, (on) => set({published: on}, true));
  changed();
  return [el('div', {class: 'controls'},
    choice('value', values, state.value, (value) => set({value}, true)),
    choice('over', axes, state.x, (x) => set({x, hidden: new Set()})),
    powers.label, values.some((value) => claimsFor(some, value).length > 0) ? published.label : null), chart, below];
}

// `many`: of so many cards that their tables would hide the charts.
function benchmark(title, some, number, many) {
  const axes = varying(some), values = valuesIn(some);
  const common = ['threads', ...parameters].filter((name) => some[0][name] !== undefined && !axes.some((axis) => axis.name === name));
  return card(title, {id: `b${number}`, 'data-operation': some[0].operation},
    el('p', {class: 'dim'}, common.map((name) => phrase(some[0], name)).join(', ')),
    ...(values.length > 0 ? chartSection(some, axes, values) : []), ...latencySection(some),
    el('details', {open: some.length <= 24 && !many}, el('summary', {}, `Numbers (${some.length} rows)`), numbersTable(some, axes)));
}

// ---- Two results

function comparison({rows: compared, before, after, common, threshold_ratio: threshold, ...rest}) {
  const extremes = compared.flatMap((row) => [row.ratio_high, 1 / row.ratio_low]).filter((r) => isNumber(r) && r > 0);
  const reach = Math.max(1.25, ...extremes.map((ratio) => Math.min(ratio, 8)));
  const place = (ratio) => 90 + 85 * Math.max(-1, Math.min(1, Math.log(ratio) / Math.log(reach)));
  const bar = (row) => {
    const ink = {better: 'var(--good)', worse: 'var(--bad)'}[row.verdict] ?? 'var(--dim)';
    const [from, to] = [place(1 - threshold), place(1 + threshold)];
    return svg('svg', {width: 180, height: 18, viewBox: '0 0 180 18', role: 'img', 'aria-label': 'ratio with interval'},
      svg('rect', {x: from, width: to - from, y: 0, height: 18, style: 'fill:var(--line);opacity:.5'}),
      svg('line', {x1: 90, x2: 90, y1: 0, y2: 18, style: 'stroke:var(--dim)'}),
      isNumber(row.ratio_low) ? svg('line', {
        x1: place(row.ratio_low), x2: place(row.ratio_high), y1: 9, y2: 9, style: `stroke:${ink};stroke-width:2`}) : null,
      isNumber(row.ratio_median) ? svg('circle', {cx: place(row.ratio_median), cy: 9, r: 4, style: `fill:${ink}`}) : null);
  };
  const text = (row, number) => !isNumber(number) ? '–' :
    (VALUES.find((value) => value.field === row.field)?.format ?? FORMATS.number)(number);
  const verdict = (row) => el('span', {class: {better: 'good', worse: 'bad', INVALID: 'bad'}[row.verdict]},
    row.verdict + (row.why ? ': ' + row.why : ''));
  const cells = (row) => [row.short, verdict(row), isNumber(row.ratio_median) ? row.ratio_median.toFixed(3) : '–', bar(row),
    isNumber(row.ratio_low) && row.interval_coverage > 0 ? `${row.ratio_low.toFixed(3)} – ${row.ratio_high.toFixed(3)}` : '',
    row.p_value < 1 ? row.p_value.toFixed(3) : '', text(row, row.before), text(row, row.after)];
  const lists = [[`Only in ${before}`, rest.only_before], [`Only in ${after}`, rest.only_after],
    ['What else changed', rest.environment_changes]].filter(([, lines]) => lines.length > 0);
  return card(`${after} against ${before}`, {id: 'comparison'},
    el('p', {class: 'dim'}, `Ratios of ${after} over ${before} with their 95 % intervals. A change counts beyond ` +
      `${digits(100 * threshold)} % (grey) and beyond chance.${common ? ` All with ${common}.` : ''}`),
    tableOf(['measurement', 'verdict', 'ratio', `${digits(1 / reach)} … 1 … ${digits(reach)}`, 'interval', 'p', before, after],
      compared.map((row) => ({class: row.verdict === 'INVALID' && 'invalid', cells: cells(row)})), {text: [0, 1]}),
    ...lists.map(([heading, lines]) => el('details', {}, el('summary', {}, `${heading} (${lines.length})`), list(lines))));
}

// ---- Prices, environment, head

function prices(table) {
  const cell = (line) => (content, i) => line.best[i] ? el('strong', {class: 'good'}, content) : content;
  return card('Price-performance', {id: 'prices'},
    el('p', {class: 'dim'}, `The price of a GB (2^30 bytes) over the rate, or times the latency: less is better. ${table.source}`),
    tableOf(['', ...table.systems], table.lines.map((line) => [line.label, ...line.cells.map(cell(line))]), {text: [0]}),
    ...table.missing.map((line) => el('p', {class: 'dim'}, line)));
}

function fieldText(name, value) {
  if (value === undefined) return '';
  if (value === null) return '–';
  if (Array.isArray(value)) return value.join(', ');
  if (!isNumber(value)) return String(value);
  if (name.includes('bytes_per_s')) return FORMATS.bandwidth(value);
  if (name.endsWith('_bytes') || name === 'bytes') return FORMATS.bytes(value);
  return Number.isInteger(value) ? String(value) : digits(value);
}

// The fields of a section, a column per result; what differs between results stands out.
function fieldsTable(columns, labels) {
  const names = [...new Set(columns.flatMap(Object.keys))];
  const line = (name) => {
    const cells = columns.map((column) => fieldText(name, column[name]));
    return el('tr', {}, el('td', {class: 'text'}, name.replaceAll('_', ' ')),
      ...cells.map((cell) => el('td', {class: 'text wrap' + (cell !== cells[0] ? ' differs' : '')}, cell)));
  };
  return el('div', {class: 'scroll'}, el('table', {},
    el('thead', {}, el('tr', {}, el('th'), ...labels.map((label) => el('th', {class: 'text'}, label)))),
    el('tbody', {}, ...names.map(line))));
}

const ofResult = (label, text) => data.results.length > 1 ? `${label}: ${text}` : text;

function environment() {
  const section = (name) => [el('h3', {}, name),
    fieldsTable(data.results.map((result) => result.document[name] ?? {}), data.results.map((result) => result.label))];
  const regions = data.results.flatMap(({label, document: one}) =>
    (one.regions ?? []).map((region) => ({label: ofResult(label, region.name), region})));
  return card('Where and how this was measured', {id: 'environment'}, ...section('environment'),
    ...(regions.length === 0 ? [] : [el('h3', {}, 'memory that was really used'),
      fieldsTable(regions.map((entry) => entry.region), regions.map((entry) => entry.label))]),
    ...section('calibration'), ...section('command'));
}

function invalidRows(bad) {
  const most = 50;
  // What tells it from the other rows of its benchmark.
  const axes = new Map(groups().flatMap(([, some]) => some.map((row) => [row, varying(some)])));
  const apart = (row) => axes.get(row).filter(({name}) => !['threads', 'subject'].includes(name))
    .map(({name}) => ', ' + phrase(row, name)).join('');
  return el('section', {class: 'card invalid', id: 'invalid'},
    el('h2', {class: 'bad'}, `INVALID: ${bad.length} of ${rows.length} rows must not be believed`),
    list(bad.slice(0, most).map((row) => `${row.subject} ${row.operation}, ${phrase(row, 'threads')}${apart(row)}: ${row.valid}`)),
    bad.length > most ? el('p', {}, `and ${bad.length - most} more; they are marked where they stand`) : null);
}

function head() {
  const machine = ({environment: e}) =>
    [e.cpu_model, e.kernel, e.compiler, e.utc_time].filter(Boolean).join(', ') || 'machine not recorded';
  return el('header', {}, el('h1', {}, data.title), ...data.results.map(({label, document: one}) =>
    el('p', {class: 'dim'}, ofResult(label, `${machine(one)}; ${one.rows.length} rows`))));
}

function build() {
  const all = groups(), bad = rows.filter((row) => !valid(row));
  const warnings = data.results.flatMap(({label, document: one}) => (one.warnings ?? []).map((line) => ofResult(label, line)));
  const links = [...all.map(([title], i) => ['b' + i, title]), ...(data.comparison ? [['comparison', 'comparison']] : []),
    ...(data.prices ? [['prices', 'prices']] : []), ['environment', 'environment']];
  report.replaceChildren(head(), el('nav', {}, ...links.map(([id, title]) => el('a', {href: '#' + id}, title))));
  if (bad.length > 0) report.append(invalidRows(bad));
  if (warnings.length > 0)
    report.append(el('section', {class: 'card warnings', id: 'warnings'}, el('h2', {}, 'Warnings'), list(warnings)));
  if (data.comparison) report.append(comparison(data.comparison));
  all.forEach(([title, some], i) => report.append(benchmark(title, some, i, all.length > 12)));
  if (data.prices) report.append(prices(data.prices));
  report.append(environment(), el('p', {class: 'dim'}, 'Points are medians, hollow ones carry a warning; bars are intervals ' +
    'of order statistics over the repetitions, which cover the median with the probability that their rows state (93.75 % ' +
    'for five). GiB are 2^30 bytes. Written by holdfast bench report; this file loads nothing.'));
  document.documentElement.dataset.ready = 'true';
}

window.addEventListener('beforeprint', () =>
  document.querySelectorAll('details').forEach((details) => { details.open = true; }));
build();
