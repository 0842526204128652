// Draws the report from the JSON in #data: result documents as docs/results.md describes them, the published claims
// that match (report.hpp), a comparison and a table of prices where there are any. No text of a result ever becomes
// markup: everything goes through text nodes and attributes.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const report = document.getElementById('report');
const SVG = 'http://www.w3.org/2000/svg';

// ---- Elements

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const card = (title, attributes, ...children) => el('section', {class: 'card', ...attributes}, el('h2', {}, title), ...children);

// A table whose wide form scrolls inside the page. `text` columns are left-aligned.
function tableOf(header, rows, options = {}) {
  const cell = (tag, content, column) => {
    const text = (options.text || []).includes(column);
    const node = content instanceof Node ? el(tag, {class: text && 'text'}, content) : el(tag, {class: text && 'text'}, String(content));
    return node;
  };
  const line = (tag, cells) => cells.map((content, column) => cell(tag, content, column));
  return el('div', {class: 'scroll'}, el('table', {class: options.class},
    el('thead', {}, el('tr', {}, ...line('th', header))),
    el('tbody', {}, ...rows.map((row) => el('tr', {class: row.class}, ...line('td', row.cells || row))))));
}

// ---- Numbers

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
function digits(number) {
  const size = Math.abs(number);
  if (size === 0) return '0';
  return size >= 99.95 ? number.toFixed(0) : size >= 9.995 ? number.toFixed(1) : size >= 0.0995 ? number.toFixed(2) : number.toPrecision(2);
}
function scaled(number, base, units) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(number) >= base * 0.9995) { number /= base; ++unit; }
  return digits(number) + (units[unit] ? ' ' + units[unit] : '');
}
const FORMATS = {
  bandwidth: (v) => digits(v / 2 ** 30) + ' GiB/s',
  rate: (v) => scaled(v, 1000, ['/s', 'k/s', 'M/s', 'G/s']),
  time: (v) => scaled(v, 1000, ['ns', 'µs', 'ms', 's']),
  bytes: (v) => scaled(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']),
  number: (v) => digits(v),
};
// What a chart may show: the field (with _median, _low, _high where it has them), its name, how to print it.
const VALUES = [
  ['bytes_per_s', 'bandwidth', 'bandwidth'], ['ops_per_s', 'operations per second', 'rate'],
  ['ns_per_op', 'time per operation', 'time'], ['mean_ns', 'mean latency', 'time'], ['p50_ns', 'median latency', 'time'],
  ['p90_ns', '90 % latency', 'time'], ['p99_ns', '99 % latency', 'time'], ['p999_ns', '99.9 % latency', 'time'],
  ['p9999_ns', '99.99 % latency', 'time'], ['max_ns', 'longest', 'time'], ['cpu_ns_per_op', 'CPU time per operation', 'time'],
  ['time_x_floor', 'time over the floor', 'number'], ['fences_per_op', 'fences per operation', 'number'],
  ['dram_bytes_per_record', 'DRAM per record', 'bytes'], ['medium_bytes_per_record', 'medium per record', 'bytes'],
].map(([field, label, format]) => ({field, label, format: FORMATS[format], unit: {bandwidth: 2 ** 30, bytes: 1024}[format] ?? 1}));
const middle = (row, value) => row[value.field + '_median'] ?? row[value.field];

// A parameter's value as people read it: access_bytes 4096 is 4 KiB.
function readable(name, value) {
  if (value === undefined || value === null) return '–';
  if (isNumber(value) && name.endsWith('_bytes')) return FORMATS.bytes(value).replace(/\.0+ /, ' ');
  if (isNumber(value)) return Number.isInteger(value) ? String(value) : digits(value);
  return String(value);
}
const nameOf = (parameter) => parameter.replace(/_bytes$/, '_size').replace(/_n?s$/, '').replaceAll('_', ' ');

// ---- Rows, grouped by what was done

const PARAMETERS_OF_VERSION_1 = ['batch', 'key_bytes', 'value_bytes', 'records', 'durability', 'distribution'];
const parameters = [...new Set(data.results.flatMap((r) => r.document.parameters?.length ? r.document.parameters : PARAMETERS_OF_VERSION_1))];
const rows = data.results.flatMap((result) => result.document.rows.map((row) => ({...row, result: result.label})));
const valid = (row) => row.valid === true;

function groups() {
  const found = new Map();
  for (const row of rows) {
    const key = (row.experiment ? row.experiment + ': ' : '') + row.operation;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return found;
}

// Names of fields, the parameters and three more, that are not the same in all of `some` rows, with their values in order.
function varying(some) {
  const axes = [];
  for (const name of ['threads', ...parameters, 'subject', 'result']) {
    if (name === 'experiment') continue;
    const values = [...new Set(some.map((row) => row[name]))];
    if (values.length < 2) continue;
    const numeric = values.every(isNumber);
    if (numeric) values.sort((a, b) => a - b);
    axes.push({name, values, numeric});
  }
  return axes;
}

const seriesName = (row, axes) => axes.length === 0 ? row.subject : axes.map(({name}) =>
  name === 'subject' || name === 'result' ? row[name] : name === 'threads' ? `${row.threads} threads` : `${nameOf(name)} ${readable(name, row[name])}`).join(', ');

// Rows of one line of a chart: all that differ in nothing but `x`.
function seriesOf(some, axes, x) {
  const rest = axes.filter((axis) => axis !== x);
  const found = new Map();
  for (const row of some) {
    const name = seriesName(row, rest.toReversed());
    if (!found.has(name)) found.set(name, {name, rows: [], index: found.size});
    found.get(name).rows.push(row);
  }
  return [...found.values()];
}

// ---- Charts

const colour = (index) => `var(--s${index % 8})`;
const dash = (index) => ['', '7 3', '2 3', '9 3 2 3'][Math.floor(index / 8) % 4];

// Round numbers of `unit`s that cover [0, top], or, on a scale of powers, [bottom, top].
function ticks(bottom, top, unit, powers) {
  if (powers) {
    const all = [];
    for (let power = 10 ** Math.floor(Math.log10(bottom / unit)); power * unit <= top; power *= 10) all.push(power, 2 * power, 5 * power);
    return all.map((tick) => tick * unit).filter((tick) => tick >= bottom && tick <= top);
  }
  const raw = top / unit / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= raw) * power * unit;
  return Array.from({length: Math.floor(top / step * 1.0001) + 1}, (_, i) => i * step);
}

const tip = document.getElementById('tip');
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const width = document.documentElement.clientWidth;
  tip.style.left = Math.max(4, Math.min(event.pageX + 12, window.scrollX + width - tip.offsetWidth - 4)) + 'px';
  tip.style.top = (event.pageY + 14) + 'px';
}
const hideTip = () => { tip.hidden = true; };

// The point nearest to the pointer speaks, from 40 pixels on.
function speakingPoints(drawing, width, points) {
  drawing.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect();
    const x = (event.clientX - box.left) * width / box.width, y = (event.clientY - box.top) * width / box.width;
    let best, distance = 40;
    for (const point of points) {
      const d = Math.hypot(point.x - x, point.y - y);
      if (d < distance) { best = point; distance = d; }
    }
    if (best) showTip(event, best.text); else hideTip();
  });
  drawing.addEventListener('pointerleave', hideTip);
}

// Draws into `box` at its present width, and again when that changes.
function drawn(box, draw) {
  let width = 0;
  const now = () => {
    const space = Math.round(box.clientWidth) || 640;
    if (Math.abs(space - width) < 2) return;
    width = space;
    box.replaceChildren(draw(width));
  };
  new ResizeObserver(now).observe(box);
  return () => { width = 0; now(); };
}

function legend(series, hidden, redraw) {
  return el('ul', {class: 'legend'}, ...series.map((line) => el('li', {}, el('button', {
    type: 'button', 'aria-pressed': String(!hidden.has(line.name)),
    onclick: (event) => {
      if (!hidden.delete(line.name)) hidden.add(line.name);
      event.currentTarget.setAttribute('aria-pressed', String(!hidden.has(line.name)));
      redraw();
    }},
    svg('svg', {width: 26, height: 10, 'aria-hidden': 'true'},
      svg('line', {x1: 0, y1: 5, x2: 26, y2: 5, 'stroke-width': 3, style: `stroke:${colour(line.index)}`, 'stroke-dasharray': dash(line.index)})),
    line.name))));
}

function tipText(row, line, value) {
  const lines = [line.name, `${value.label}: ${isNumber(middle(row, value)) ? value.format(middle(row, value)) : 'none'}`];
  const low = row[value.field + '_low'], high = row[value.field + '_high'];
  if (isNumber(low) && low !== high)
    lines.push(`interval ${value.format(low)} to ${value.format(high)}, ${row.repetitions} repetitions`);
  if (!valid(row)) lines.push('INVALID: ' + row.valid);
  for (const warning of row.warnings || []) lines.push('warning: ' + warning);
  return lines.join('\n');
}

// A value over the values of `x`: lines, points, error bars, published numbers as dashed lines across.
function lineChart(width, {series, x, value, claims, hidden, powers}) {
  const height = Math.max(260, Math.min(380, width * 0.55)), left = 74, right = 14, top = 14, bottom = 44;
  const shown = series.filter((line) => !hidden.has(line.name));
  const numbers = shown.flatMap((line) => line.rows.filter(valid)).flatMap((row) => [middle(row, value), row[value.field + '_low'], row[value.field + '_high']])
    .concat(claims.flatMap((claim) => [claim.value, claim.low, claim.high])).filter(isNumber);
  const most = Math.max(...numbers, 0) || 1;
  const least = Math.min(...numbers.filter((number) => number > 0), most) * 0.8;
  const limit = most * (powers ? 1.3 : 1.06);
  const labels = x ? x.values : [''];
  const place = (row) => left + (width - left - right) * ((x ? labels.indexOf(row[x.name]) : 0) + 0.5) / labels.length;
  const share = (number) => powers ? Math.log(Math.max(number, least) / least) / Math.log(limit / least) : number / limit;
  const level = (number) => top + (height - top - bottom) * (1 - Math.max(0, Math.min(1, share(number))));
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${value.label} over ${x ? nameOf(x.name) : 'one configuration'}`});
  for (const tick of ticks(least, most, value.unit, powers)) {
    drawing.append(svg('line', {class: 'axis', x1: left, x2: width - right, y1: level(tick), y2: level(tick)}),
      svg('text', {x: left - 8, y: level(tick) + 4, 'text-anchor': 'end'}, value.format(tick)));
  }
  const skip = Math.ceil(labels.length * 56 / (width - left - right));
  labels.forEach((label, i) => {
    if (i % skip === 0 && x)
      drawing.append(svg('text', {x: left + (width - left - right) * (i + 0.5) / labels.length, y: height - bottom + 18, 'text-anchor': 'middle'}, readable(x.name, label)));
  });
  if (x) drawing.append(svg('text', {class: 'title', x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle'}, nameOf(x.name)));
  const points = [];
  const taken = [];  // Heights of labels, so that no two are written over one another.
  const names = svg('g');
  for (const claim of claims.toSorted((a, b) => b.value - a.value)) {
    const y = level(claim.value);
    let at = y - 4;
    while (taken.some((other) => Math.abs(other - at) < 12)) at += 12;
    taken.push(at);
    drawing.append(svg('line', {class: 'published', 'data-id': claim.id, x1: left, x2: width - right, y1: y, y2: y}));
    if (isNumber(claim.low) && isNumber(claim.high) && claim.high > claim.low)
      drawing.append(svg('path', {class: 'published whole', d: `M${left + 2},${level(claim.high)}h8m-4,0V${level(claim.low)}m-4,0h8`}));
    if (at < height - bottom)
      names.append(svg('text', {class: 'published', x: left + 14, y: at}, width < 500 ? claim.short : claim.label));
    for (let px = left + 10; px < width; px += 30) points.push({x: px, y, text: claim.tip});
  }
  shown.forEach((line) => {
    const style = `stroke:${colour(line.index)}`;
    const offset = (line.index - (series.length - 1) / 2) * Math.min(5, 60 / series.length);  // Bars side by side.
    const at = (row) => place(row) + offset;
    const good = line.rows.filter((row) => valid(row) && isNumber(middle(row, value)));
    if (x?.numeric)
      drawing.append(svg('polyline', {class: 'series', style, 'stroke-dasharray': dash(line.index), points: good.toSorted((a, b) => a[x.name] - b[x.name]).map((row) => `${at(row)},${level(middle(row, value))}`).join(' ')}));
    for (const row of line.rows) {
      const number = middle(row, value);
      const spot = {x: at(row), y: valid(row) && isNumber(number) ? level(number) : isNumber(number) && number > limit ? top + 6 : level(isNumber(number) ? number : 0) , text: tipText(row, line, value)};
      if (!valid(row)) {
        drawing.append(svg('path', {class: 'invalid', d: `M${spot.x - 6},${spot.y - 6}l12,12m0,-12l-12,12`}),
          svg('text', {class: 'bad', x: spot.x + 9, y: spot.y + 4, style: 'fill:var(--bad)'}, 'INVALID'));
      } else if (isNumber(number)) {
        const low = row[value.field + '_low'], high = row[value.field + '_high'];
        if (isNumber(low) && isNumber(high) && high > low)
          drawing.append(svg('path', {class: 'error-bar', style, d: `M${spot.x - 4},${level(high)}h8m-4,0V${level(low)}m-4,0h8`}));
        drawing.append(svg('circle', {cx: spot.x, cy: spot.y, r: 4, style: `fill:${colour(line.index)}`}));
      } else {
        continue;
      }
      points.push(spot);
    }
  });
  drawing.append(names);  // Over the lines, with a rim, so that they can be read.
  speakingPoints(drawing, width, points);
  return drawing;
}

// Latency over the share of operations that took no longer, both on scales that spread the tail.
function latencyChart(width, series, hidden) {
  const height = Math.max(240, Math.min(340, width * 0.5)), left = 74, right = 14, top = 10, bottom = 44;
  const shown = series.filter((line) => !hidden.has(line.name));
  const curves = shown.flatMap((line) => line.rows.map((row) => ({line, row, curve: row.latency_curve_ns})));
  const all = curves.flatMap(({curve}) => curve).map((ns) => Math.max(1, ns));
  const least = Math.floor(Math.log10(Math.min(...all, 1e9))), most = Math.max(Math.ceil(Math.log10(Math.max(...all, 1))), least + 1);
  const nines = Math.max(...curves.map(({curve}) => (curve.length - 1) * data.curve_step), 1);
  const px = (nine) => left + (width - left - right) * nine / nines;
  const py = (ns) => top + (height - top - bottom) * (1 - (Math.log10(Math.max(1, ns)) - least) / (most - least));
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'latency by percentile'});
  for (let power = least; power <= most; ++power) {
    drawing.append(svg('line', {class: 'axis', x1: left, x2: width - right, y1: py(10 ** power), y2: py(10 ** power)}),
      svg('text', {x: left - 8, y: py(10 ** power) + 4, 'text-anchor': 'end'}, FORMATS.time(10 ** power).replace(/\.0+ /, ' ')));
  }
  for (const [nine, label] of [[0, '0 %'], [Math.log10(2), '50 %'], [1, '90 %'], [2, '99 %'], [3, '99.9 %'], [4, '99.99 %'], [5, '99.999 %']]) {
    if (nine > nines + 0.01 || (nine > 0 && nine < 1 && width < 500)) continue;
    drawing.append(svg('line', {class: 'axis', x1: px(nine), x2: px(nine), y1: top, y2: height - bottom}),
      svg('text', {x: px(nine), y: height - bottom + 18, 'text-anchor': nine === 0 ? 'start' : nine > nines - 0.3 ? 'end' : 'middle'}, label));
  }
  drawing.append(svg('text', {class: 'title', x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle'}, 'share of operations that took at most this long'));
  const points = [];
  for (const {line, curve} of curves) {
    const places = curve.map((ns, i) => ({x: px(i * data.curve_step), y: py(ns), text: `${line.name}\n${(100 * (1 - 10 ** (-i * data.curve_step))).toFixed(Math.max(0, Math.ceil(i * data.curve_step) - 1))} %: ${FORMATS.time(ns)}`}));
    drawing.append(svg('polyline', {class: 'series latency', style: `stroke:${colour(line.index)}`, 'stroke-dasharray': dash(line.index), points: places.map(({x, y}) => `${x},${y}`).join(' ')}));
    points.push(...places);
  }
  speakingPoints(drawing, width, points);
  return drawing;
}

// ---- Heat maps: two numeric parameters that vary, one map for each combination of the rest.

function heatMaps(some, axes, value) {
  const numeric = axes.filter((axis) => axis.numeric);
  if (numeric.length < 2) return null;
  const down = numeric.find((axis) => axis.name === 'threads') ?? numeric[0];
  const across = numeric.filter((axis) => axis !== down).toSorted((a, b) => b.values.length - a.values.length)[0];
  const rest = axes.filter((axis) => axis !== down && axis !== across);
  const maps = new Map();
  for (const row of some) {
    const name = seriesName(row, rest);
    if (!maps.has(name)) maps.set(name, []);
    maps.get(name).push(row);
  }
  const most = Math.max(...some.filter(valid).map((row) => middle(row, value)).filter(isNumber), 0) || 1;
  const cellOf = (row) => {
    const number = row && middle(row, value);
    if (row && !valid(row)) return el('td', {class: 'invalid', title: row.valid}, 'INVALID');
    if (!isNumber(number)) return el('td', {class: 'none'}, '–');
    const share = number / most;
    return el('td', {style: `--v:${share.toFixed(3)}`, class: share > 0.55 && 'strong'}, value.format(number));
  };
  const map = ([name, rowsHere]) => el('div', {}, el('table', {class: 'heat'}, el('caption', {}, name),
    el('thead', {}, el('tr', {}, el('th', {class: 'text'}, `${nameOf(down.name)} \\ ${nameOf(across.name)}`), ...across.values.map((v) => el('th', {}, readable(across.name, v))))),
    el('tbody', {}, ...down.values.map((d) => el('tr', {}, el('th', {}, readable(down.name, d)),
      ...across.values.map((a) => cellOf(rowsHere.find((row) => row[down.name] === d && row[across.name] === a))))))));
  return el('div', {}, el('h3', {}, `${value.label} by ${nameOf(down.name)} and ${nameOf(across.name)}`),
    el('div', {class: 'heats'}, ...[...maps].map(map)));
}

// ---- One benchmark

function numbersTable(some, axes) {
  const values = VALUES.filter((value) => some.some((row) => isNumber(middle(row, value))));
  const header = [...axes.map((axis) => nameOf(axis.name)), ...values.flatMap((value) => some.some((row) => isNumber(row[value.field + '_low'])) ? [value.label, 'interval'] : [value.label]), 'repetitions', ''];
  const cells = (row) => [
    ...axes.map((axis) => readable(axis.name, row[axis.name])),
    ...values.flatMap((value) => {
      const number = middle(row, value), low = row[value.field + '_low'], high = row[value.field + '_high'];
      const text = isNumber(number) ? value.format(number) : '–';
      if (!some.some((other) => isNumber(other[value.field + '_low']))) return [text];
      return [text, isNumber(low) && isNumber(high) ? `${value.format(low)} – ${value.format(high)}` : ''];
    }),
    row.repetitions ?? '', valid(row) ? (row.warnings || []).join('; ') : 'INVALID: ' + row.valid,
  ];
  const text = axes.flatMap((axis, i) => axis.numeric ? [] : [i]).concat(header.length - 1);
  return tableOf(header, some.map((row) => ({cells: cells(row), class: !valid(row) && 'invalid'})), {text});
}

function claimsFor(some, value) {
  const first = some[0];
  return data.published.filter((claim) => claim.operation === first.operation && claim.field === value.field &&
    some.some((row) => Object.entries(claim.where).every(([name, wanted]) => String(row[name]) === wanted)));
}

function benchmark(title, some, number) {
  const axes = varying(some);
  const values = VALUES.filter((value) => some.some((row) => isNumber(middle(row, value))));
  const common = ['threads', ...parameters].filter((name) => some[0][name] !== undefined && !axes.some((axis) => axis.name === name) && name !== 'experiment')
    .map((name) => `${nameOf(name)} ${readable(name, some[0][name])}`).join(', ');
  const section = card(title, {id: `b${number}`, 'data-operation': some[0].operation}, el('p', {class: 'dim'}, common));
  if (some.length > 30) section.classList.add('long');
  if (values.length === 0) {
    section.append(numbersTable(some, axes));
    return section;
  }
  // What has an access size is about bytes, the rest about operations.
  const first = some.some((row) => isNumber(row.access_bytes)) ? values[0] : values.find((value) => value.field === 'ops_per_s') ?? values[0];
  const state = {value: first, x: axes.filter((axis) => axis.numeric).toSorted((a, b) => b.values.length - a.values.length)[0] ?? axes[0], published: true, hidden: new Set()};
  // Where others measured several times as much, a linear scale would press ours against the axis.
  const farApart = () => {
    const ours = Math.max(...some.filter(valid).map((row) => middle(row, state.value)).filter(isNumber), 0);
    return state.published && claimsFor(some, state.value).some((claim) => claim.value > 4 * ours || claim.value < ours / 20);
  };
  state.powers = farApart();
  const chart = el('div', {class: 'chart'}), below = el('div', {}), note = el('div', {});
  const choice = (label, options, current, change) => options.length < 2 ? null : el('label', {}, label, el('select', {
    onchange: (event) => { change(options[event.target.value]); draw(); }},
    ...options.map((option, i) => el('option', {value: i, selected: option === current}, option.label ?? nameOf(option.name)))));
  const scale = el('input', {type: 'checkbox', checked: state.powers, onchange: (event) => { state.powers = event.target.checked; draw(); }});
  const hasClaims = values.some((value) => claimsFor(some, value).length > 0);
  section.append(el('div', {class: 'controls'},
    choice('value', values, state.value, (value) => { state.value = value; state.powers = scale.checked = farApart(); }),
    choice('over', axes, state.x, (axis) => { state.x = axis; state.hidden.clear(); }),
    el('label', {}, scale, 'scale of powers'),
    hasClaims ? el('label', {}, el('input', {type: 'checkbox', checked: true, onchange: (event) => { state.published = event.target.checked; state.powers = scale.checked = farApart(); draw(); }}), 'published numbers') : null),
    chart, below, note);
  const again = drawn(chart, (width) => lineChart(width, {...state, series: seriesOf(some, axes, state.x), claims: state.published ? claimsFor(some, state.value) : []}));
  function draw() {
    const series = seriesOf(some, axes, state.x);
    const heat = heatMaps(some, axes, state.value);
    const claims = state.published ? claimsFor(some, state.value) : [];
    again();
    below.replaceChildren(legend(series, state.hidden, again));
    note.replaceChildren(...[
      claims.length > 0 && el('details', {open: claims.length < 8}, el('summary', {}, 'Published numbers (dashed), on other hardware'),
        tableOf(['value', 'system', 'hardware', 'measured as', 'in'], claims.map((claim) => [claim.text, claim.system, claim.hardware, claim.workload, claim.place]), {text: [1, 2, 3, 4]})),
      heat].filter(Boolean));
  }
  draw();
  const timed = some.filter((row) => row.latency_curve_ns?.length > 0);
  if (timed.length > 0) {
    const series = timed.map((row, index) => ({name: seriesName(row, varying(timed).toReversed()), rows: [row], index}));
    const hidden = new Set(series.slice(12).map((line) => line.name)), box = el('div', {class: 'chart'});
    const redraw = drawn(box, (width) => latencyChart(width, series, hidden));
    section.append(el('h3', {}, 'latency of single operations'), box, legend(series, hidden, redraw));
    redraw();
  }
  section.append(el('details', {open: some.length <= 24}, el('summary', {}, `Numbers (${some.length} rows)`), numbersTable(some, axes)));
  return section;
}

// ---- The rest of the page

function comparison({rows: compared, before, after, common, threshold_ratio, only_before, only_after, environment_changes}) {
  const reach = Math.max(1.25, ...compared.flatMap((row) => [row.ratio_high, 1 / row.ratio_low]).filter((r) => isNumber(r) && r > 0).map((r) => Math.min(r, 8)));
  const place = (ratio) => 90 + 85 * Math.max(-1, Math.min(1, Math.log(ratio) / Math.log(reach)));
  const bar = (row) => {
    const kind = {better: 'var(--good)', worse: 'var(--bad)'}[row.verdict] ?? 'var(--dim)';
    return svg('svg', {width: 180, height: 18, viewBox: '0 0 180 18', role: 'img', class: 'ratio', 'aria-label': 'ratio with interval'},
      svg('rect', {x: place(1 - threshold_ratio), width: place(1 + threshold_ratio) - place(1 - threshold_ratio), y: 0, height: 18, style: 'fill:var(--line);opacity:.5'}),
      svg('line', {class: 'axis', x1: 90, x2: 90, y1: 0, y2: 18, style: 'stroke:var(--dim)'}),
      isNumber(row.ratio_low) ? svg('line', {x1: place(row.ratio_low), x2: place(row.ratio_high), y1: 9, y2: 9, style: `stroke:${kind};stroke-width:2`}) : null,
      isNumber(row.ratio_median) ? svg('circle', {cx: place(row.ratio_median), cy: 9, r: 4, style: `fill:${kind}`}) : null);
  };
  const format = (row) => VALUES.find((value) => value.field === row.field)?.format ?? FORMATS.number;
  const text = (row, number) => isNumber(number) ? format(row)(number) : '–';
  const verdict = (row) => el('span', {class: {better: 'good', worse: 'bad', INVALID: 'bad'}[row.verdict]}, row.verdict + (row.why ? ': ' + row.why : ''));
  return card(`${after} against ${before}`, {id: 'comparison', class: 'card long'},
    el('p', {class: 'dim'}, `Ratios of ${after} over ${before} with their 95 % intervals. A change counts beyond ${digits(100 * threshold_ratio)} % (grey) and beyond chance.${common ? ' All with ' + common + '.' : ''}`),
    tableOf(['measurement', 'verdict', 'ratio', `${digits(1 / reach)} … 1 … ${digits(reach)}`, 'interval', 'p', before, after], compared.map((row) => ({
      class: row.verdict === 'INVALID' && 'invalid',
      cells: [row.short, verdict(row), isNumber(row.ratio_median) ? row.ratio_median.toFixed(3) : '–', bar(row),
        isNumber(row.ratio_low) && row.interval_coverage > 0 ? `${row.ratio_low.toFixed(3)} – ${row.ratio_high.toFixed(3)}` : '',
        row.p_value < 1 ? row.p_value.toFixed(3) : '', text(row, row.before), text(row, row.after)]})), {text: [0, 1]}),
    ...[['Only in ' + before, only_before], ['Only in ' + after, only_after], ['What else changed', environment_changes]].filter(([, list]) => list.length > 0)
      .map(([heading, list]) => el('details', {}, el('summary', {}, `${heading} (${list.length})`), el('ul', {}, ...list.map((line) => el('li', {}, line))))));
}

function prices(table) {
  return card('Price-performance', {id: 'prices'},
    el('p', {class: 'dim'}, `The price of a GB (2^30 bytes) over the rate, or times the latency: less is better. ${table.source}`),
    tableOf(['', ...table.systems], table.lines.map((line) => [line.label, ...line.cells.map((cell, i) => line.best[i] ? el('strong', {class: 'good'}, cell) : cell)]), {text: [0]}),
    ...table.missing.map((line) => el('p', {class: 'dim'}, line)));
}

// The fields of a section, a column per result; what differs between results stands out.
function fieldsTable(columns, labels) {
  const names = [...new Set(columns.flatMap((column) => Object.keys(column)))];
  const text = (name, value) => value === undefined ? '' : Array.isArray(value) ? value.join(', ') : isNumber(value) && name.endsWith('_bytes') ? `${FORMATS.bytes(value)}` :
    isNumber(value) && name.includes('bytes_per_s') ? FORMATS.bandwidth(value) : isNumber(value) && !Number.isInteger(value) ? digits(value) : String(value);
  return el('div', {class: 'scroll'}, el('table', {},
    el('thead', {}, el('tr', {}, el('th', {}), ...labels.map((label) => el('th', {class: 'text'}, label)))),
    el('tbody', {}, ...names.map((name) => {
      const cells = columns.map((column) => text(name, column[name]));
      return el('tr', {}, el('td', {class: 'text'}, name.replaceAll('_', ' ')), ...cells.map((cell) => el('td', {class: 'text wrap' + (cell !== cells[0] ? ' differs' : '')}, cell)));
    }))));
}

function environment() {
  const labels = data.results.map((result) => result.label);
  const section = (name) => [el('h3', {}, name), fieldsTable(data.results.map((result) => result.document[name] ?? {}), labels)];
  const regions = data.results.flatMap((result) => (result.document.regions ?? []).map((region) => ({label: labels.length > 1 ? `${result.label}: ${region.name}` : region.name, region})));
  return card('Where and how this was measured', {id: 'environment', class: 'card long'}, ...section('environment'),
    ...(regions.length > 0 ? [el('h3', {}, 'memory that was really used'), fieldsTable(regions.map((entry) => entry.region), regions.map((entry) => entry.label))] : []),
    ...section('calibration'), ...section('command'));
}

function invalidRows(bad) {
  return el('section', {class: 'card invalid', id: 'invalid'}, el('h2', {class: 'bad'}, `INVALID: ${bad.length} of ${rows.length} rows must not be believed`),
    el('ul', {}, ...bad.slice(0, 50).map((row) => el('li', {}, `${row.subject} ${row.operation}, ${row.threads} threads: ${row.valid}`))),
    bad.length > 50 ? el('p', {}, `and ${bad.length - 50} more; they are marked where they stand`) : null);
}

function head() {
  const machine = ({environment: e}) => [e.cpu_model, e.kernel, e.compiler, e.utc_time].filter(Boolean).join(', ') || 'machine not recorded';
  return el('header', {}, el('h1', {}, data.title),
    ...data.results.map(({label, document: one}) => el('p', {class: 'dim'}, `${data.results.length > 1 ? label + ': ' : ''}${machine(one)}; ${one.rows.length} rows`)));
}

function build() {
  const all = [...groups()];
  const bad = rows.filter((row) => !valid(row));
  const warnings = data.results.flatMap((result) => (result.document.warnings ?? []).map((warning) => (data.results.length > 1 ? result.label + ': ' : '') + warning));
  const links = [...all.map(([title], i) => ['b' + i, title]), data.comparison && ['comparison', 'comparison'], data.prices && ['prices', 'prices'], ['environment', 'environment']].filter(Boolean);
  report.replaceChildren(head(), el('nav', {}, ...links.map(([id, title]) => el('a', {href: '#' + id}, title))));
  if (bad.length > 0) report.append(invalidRows(bad));
  if (warnings.length > 0) report.append(el('section', {class: 'card warnings', id: 'warnings'}, el('h2', {}, 'Warnings'), el('ul', {}, ...warnings.map((line) => el('li', {}, line)))));
  if (data.comparison) report.append(comparison(data.comparison));
  all.forEach(([title, some], i) => report.append(benchmark(title, some, i)));
  if (data.prices) report.append(prices(data.prices));
  report.append(environment(), el('p', {class: 'dim'}, 'Points are medians; bars are intervals of order statistics over the repetitions, with the coverage that the rows state (93.75 % for five). GiB are 2^30 bytes. Written by holdfast bench report; this file loads nothing.'));
  document.documentElement.dataset.ready = 'true';
}

window.addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
build();
