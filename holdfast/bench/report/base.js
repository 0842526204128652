// base.js: elements, numbers as people read them, and the rows of the results. Here is all that charts.js and page.js
// share; the three are one script in the page.
//
// Draws from the JSON in #data: result documents as docs/results.md describes them, the published claims that match
// (report.cpp), a comparison and a table of prices where there are any. No text of a result ever becomes markup:
// everything goes through text nodes and attributes.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const report = document.getElementById('report');

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
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
const card = (title, attributes, ...children) =>
  el('section', {class: 'card', ...attributes}, el('h2', {}, title), ...children);
const list = (lines) => el('ul', {}, ...lines.map((line) => el('li', {}, line)));

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

function scaled(number, base, units) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(number) >= base * 0.9995) {
    number /= base;
    ++unit;
  }
  return digits(number) + (units[unit] ? ' ' + units[unit] : '');
}

// The unit in which the larger of some numbers of bytes have digits before the point, or nearly.
const unitOf = (bytes) => [2 ** 30, 2 ** 20, 2 ** 10].find((unit) => bytes >= 0.0995 * unit) ?? 1;
const FORMATS = {
  bandwidth: (v) => digits(v / unitOf(v)) + {[2 ** 30]: ' GiB/s', [2 ** 20]: ' MiB/s', [2 ** 10]: ' KiB/s', 1: ' B/s'}[unitOf(v)],
  rate: (v) => scaled(v, 1000, ['/s', 'k/s', 'M/s', 'G/s']),
  time: (v) => scaled(v, 1000, ['ns', 'µs', 'ms', 's']),
  bytes: (v) => scaled(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']),
  number: (v) => digits(v),
};
const short = (text) => text.replace(/\.0+ /, ' ');  // 4.00 KiB is 4 KiB.

// What a chart may show: the field (of which rows have _median, _low and _high, or the one value), its name, its format.
const VALUES = [
  ['bytes_per_s', 'bandwidth', 'bandwidth'],
  ['both_bytes_per_s', 'bandwidth of both parts', 'bandwidth'],
  ['ops_per_s', 'operations per second', 'rate'],
  ['ns_per_op', 'time per operation', 'time'],
  ['mean_ns', 'mean latency', 'time'],
  ['p50_ns', 'median latency', 'time'],
  ['p90_ns', '90 % latency', 'time'],
  ['p99_ns', '99 % latency', 'time'],
  ['p999_ns', '99.9 % latency', 'time'],
  ['p9999_ns', '99.99 % latency', 'time'],
  ['max_ns', 'longest', 'time'],
  ['cpu_ns_per_op', 'CPU time per operation', 'time'],
  ['time_x_floor', 'time over the floor', 'number'],
  ['time_x_fence', 'time over the bare fence', 'number'],
  ['fences_per_op', 'fences per operation', 'number'],
  ['dram_bytes_per_record', 'DRAM per record', 'bytes'],
  ['medium_bytes_per_record', 'medium per record', 'bytes'],
].map(([field, label, format]) => ({
  field, label, format: FORMATS[format], unit: format === 'bandwidth' || format === 'bytes' ? unitOf : () => 1,
}));
const middle = (row, value) => row[value.field + '_median'] ?? row[value.field];
const low = (row, value) => row[value.field + '_low'];
const high = (row, value) => row[value.field + '_high'];
const valuesIn = (some) => VALUES.filter((value) => some.some((row) => isNumber(middle(row, value))));

// ---- Parameters

const nameOf = (parameter) => parameter.replace(/_range_bytes$/, '_range').replace(/_bytes$/, '_size')
  .replace(/_n?s$/, '').replaceAll('_', ' ');

// access_bytes 4096 is 4 KiB.
function readable(name, value) {
  if (value === undefined || value === null) return '–';
  if (isNumber(value) && name.endsWith('_bytes')) return short(FORMATS.bytes(value));
  if (isNumber(value)) return Number.isInteger(value) ? String(value) : digits(value);
  return String(value);
}

// "2 threads", "access size 4 KiB", "floor"
function phrase(row, name) {
  if (name === 'subject' || name === 'result') return row[name];
  if (name === 'threads') return row.threads === 1 ? '1 thread' : `${row.threads} threads`;
  return `${nameOf(name)} ${readable(name, row[name])}`;
}

// ---- Rows

const PARAMETERS_OF_VERSION_1 = ['batch', 'key_bytes', 'value_bytes', 'records', 'durability', 'distribution'];
const parameters = [...new Set(data.results.flatMap(({document: one}) =>
  one.parameters?.length ? one.parameters : PARAMETERS_OF_VERSION_1))].filter((name) => name !== 'experiment');
const rows = data.results.flatMap((result) => result.document.rows.map((row) => ({...row, result: result.label})));
const valid = (row) => row.valid === true;
const warningsOf = (row) => Array.isArray(row.warnings) ? row.warnings : [];
const note = (row) => valid(row) ? warningsOf(row).join('; ') : 'INVALID: ' + row.valid;

// By what was done.
function groups() {
  const found = new Map();
  for (const row of rows) {
    const key = (row.experiment ? row.experiment + ': ' : '') + row.operation;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return [...found];
}

// What is not the same in all of `some` rows, with its values in order.
function varying(some) {
  return ['threads', ...parameters, 'subject', 'result'].flatMap((name) => {
    const values = [...new Set(some.map((row) => row[name]))];
    if (values.length < 2) return [];
    const numeric = values.every(isNumber);
    return [{name, numeric, values: numeric ? values.sort((a, b) => a - b) : values}];
  });
}

const seriesName = (row, axes) => axes.length === 0 ? row.subject : axes.map(({name}) => phrase(row, name)).join(', ');

// The rows of each line of a chart over `x`: those that differ in nothing else.
function seriesOf(some, axes, x) {
  const rest = axes.filter((axis) => axis !== x).toReversed();
  const found = new Map();
  for (const row of some) {
    const name = seriesName(row, rest);
    if (!found.has(name)) found.set(name, {name, rows: [], index: found.size});
    found.get(name).rows.push(row);
  }
  return [...found.values()];
}

// The published claims on this value of these rows.
function claimsFor(some, value) {
  const speaksOf = (claim, row) => Object.entries(claim.where).every(([name, wanted]) => String(row[name]) === wanted);
  return data.published.filter((claim) => claim.operation === some[0].operation && claim.field === value.field &&
    some.some((row) => speaksOf(claim, row)));
}
