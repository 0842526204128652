// base.js: elements, numbers as people read them, and the rows of the results. All files of the script share it; they
// are one script in the page.
//
// The page is drawn from the JSON in #data: result documents as docs/results.md describes them, the published claims
// that match (report.cpp), a comparison and a table of prices where there are any. No text of a result ever becomes
// markup: everything goes through text nodes and attributes.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const report = document.getElementById('report');

// ---- Elements

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
const card = (title, attributes, ...children) =>
  el('section', {class: 'card', ...attributes}, el('h3', {}, ...[title].flat()), ...children);
const list = (lines) => el('ul', {}, ...lines.map((line) => el('li', {}, line)));
const fold = (summary, ...children) => el('details', {}, el('summary', {}, summary), ...children);

// A table whose wide form scrolls inside the page. A row is a list of cells, texts or nodes, or such a list with a
// class; `text` names the columns that are no numbers.
function tableOf(header, rows, {text = [], name} = {}) {
  const line = (tag, cells) =>
    cells.map((content, column) => el(tag, {class: text.includes(column) && 'text'}, content));
  return el('div', {class: 'scroll'}, el('table', {class: name},
    el('thead', {}, el('tr', {}, ...line('th', header))),
    el('tbody', {}, ...rows.map((row) => el('tr', {class: row.class}, ...line('td', row.cells ?? row))))));
}

// ---- Numbers

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

// Three digits that count.
function digits(number) {
  const size = Math.abs(number);
  if (size === 0) return '0';
  if (size >= 99.95) return number.toFixed(0);
  if (size >= 9.995) return number.toFixed(1);
  return size >= 0.0995 ? number.toFixed(2) : number.toPrecision(2);
}

// The units of each kind of number, smallest first. What is compared is shown in one unit: that of the largest.
const UNITS = {
  bandwidth: [[1, ' B/s'], [2 ** 10, ' KiB/s'], [2 ** 20, ' MiB/s'], [2 ** 30, ' GiB/s']],
  rate: [[1, ' /s'], [1e3, ' k/s'], [1e6, ' M/s'], [1e9, ' G/s']],
  time: [[1, ' ns'], [1e3, ' µs'], [1e6, ' ms'], [1e9, ' s']],
  bytes: [[1, ' B'], [2 ** 10, ' KiB'], [2 ** 20, ' MiB'], [2 ** 30, ' GiB'], [2 ** 40, ' TiB']],
  number: [[1, '']],
};
const unitOf = (kind, number) => UNITS[kind].findLast(([size]) => Math.abs(number) >= 0.9995 * size) ?? UNITS[kind][0];
const inUnit = (number, [size, name]) => digits(number / size) + name;
const format = (kind, number) => inUnit(number, unitOf(kind, number));
const short = (text) => text.replace(/\.0+(?= |$)/, '').replace(/(\.\d*?[1-9])0+(?= |$)/, '$1');  // 4.00 KiB is 4 KiB.

// What a chart may show: the field (of which rows have _median, _low and _high, or the one value), its name, its kind,
// and whether less of it is better.
const VALUES = [
  ['bytes_per_s', 'bandwidth', 'bandwidth'],
  ['both_bytes_per_s', 'bandwidth of both together', 'bandwidth'],
  ['ops_per_s', 'operations per second', 'rate'],
  ['ns_per_op', 'time per operation', 'time', true],
  ['mean_ns', 'mean latency', 'time', true],
  ['p50_ns', 'median latency', 'time', true],
  ['p90_ns', '90 % latency', 'time', true],
  ['p99_ns', '99 % latency', 'time', true],
  ['p999_ns', '99.9 % latency', 'time', true],
  ['p9999_ns', '99.99 % latency', 'time', true],
  ['max_ns', 'longest', 'time', true],
  ['cpu_ns_per_op', 'CPU time per operation', 'time', true],
  ['time_x_floor', 'time over the floor', 'number', true],
  ['time_x_fence', 'time over the bare fence', 'number', true],
  ['fences_per_op', 'fences per operation', 'number', true],
  ['dram_bytes_per_record', 'DRAM per record', 'bytes', true],
  ['medium_bytes_per_record', 'medium per record', 'bytes', true],
].map(([field, label, kind, less = false]) => ({field, label, kind, less}));
const valueOf = (field) => VALUES.find((value) => value.field === field);
const better = (value) => value.less ? 'less is better' : 'more is better';
const show = (value, number, most = number) => inUnit(number, unitOf(value.kind, most));
const middle = (row, value) => row[value.field + '_median'] ?? row[value.field];
// The time of an operation has the interval of the rate that it is made from, turned round.
const turned = (row, bound) => row[bound] > 0 ? 1e9 * row.threads / row[bound] : undefined;
const low = (row, value) =>
  row[value.field + '_low'] ?? (value.field === 'ns_per_op' ? turned(row, 'ops_per_s_high') : undefined);
const high = (row, value) =>
  row[value.field + '_high'] ?? (value.field === 'ns_per_op' ? turned(row, 'ops_per_s_low') : undefined);
const valuesIn = (some) => VALUES.filter((value) => some.some((row) => isNumber(middle(row, value))));
const most = (numbers) => Math.max(0, ...numbers.filter(isNumber));

// ---- Rows

const PARAMETERS_OF_VERSION_1 = ['batch', 'key_bytes', 'value_bytes', 'records', 'durability', 'distribution'];
const parameters = [...new Set(data.results.flatMap(({document: one}) =>
  one.parameters?.length ? one.parameters : PARAMETERS_OF_VERSION_1))]
  .filter((name) => !['experiment', 'threads', 'subject'].includes(name));
const toolOf = (one) => String(one.command?.name ?? '');
const rows = data.results.flatMap(({label, document: one}) =>
  one.rows.map((row) => ({...row, result: label, tool: toolOf(one)})));
const valid = (row) => row.valid === true;
const warningsOf = (row) => Array.isArray(row.warnings) ? row.warnings : [];
const note = (row) => valid(row) ? warningsOf(row).join('; ') : 'INVALID: ' + row.valid;
const ofResult = (label, text) => data.results.length > 1 ? [label, text].filter(Boolean).join(': ') : text;

// What is not the same in all of `some` rows, with its values in order. What stands for "all of it" is the largest, and
// has no place among numbers.
function varying(some) {
  return ['threads', ...parameters, 'subject', 'result'].flatMap((name) => {
    const values = [...new Set(some.map((row) => row[name]))];
    if (values.length < 2) return [];
    const numbers = values.every(isNumber), rank = (value) => isEnd(name, value) ? Infinity : value;
    const ordered = numbers ? values.toSorted((a, b) => rank(a) - rank(b)) : values;
    return [{name, numeric: numbers && !values.some((value) => isEnd(name, value)), values: ordered}];
  });
}

const keyOf = (row, axes) => JSON.stringify(axes.map(({name}) => [name, row[name] ?? null]));
const nameOfSeries = (row, axes) => axes.map(({name}) => phrase(row, name)).filter(Boolean).join(', ') || row.subject;

// The rows of each line of a chart: those that differ in nothing but what is not in `axes`. `keys`, shared between the
// panels of a chart, gives the same line the same colour in each.
function seriesOf(some, axes, keys = new Map()) {
  const found = new Map();
  for (const row of some) {
    const key = keyOf(row, axes);
    if (!keys.has(key)) keys.set(key, keys.size);
    if (!found.has(key)) found.set(key, {name: nameOfSeries(row, axes), rows: [], index: keys.get(key)});
    found.get(key).rows.push(row);
  }
  return [...found.values()];
}

// The published claims on this value of these rows.
const speaksOf = (claim, row) => Object.entries(claim.where).every(([name, wanted]) => String(row[name]) === wanted);
const claimsFor = (some, value) => data.published.filter((claim) => claim.operation === some[0].operation &&
  claim.field === value.field && some.some((row) => speaksOf(claim, row)));
