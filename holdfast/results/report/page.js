// page.js: the page: the first screen, the charts grouped by the question that they answer, comparison, prices,
// environment.

// ---- Two results

// "holdfast scan, 2 threads, access_bytes 256" in the words of the page.
const inWords = (identity) => String(identity).split(', ').map((piece) => {
  const [, name, value] = piece.match(/^(\w+) (.*)$/s) ?? [];
  if (!parameters.includes(name)) return piece;
  return phrase({[name]: value !== '' && Number.isFinite(Number(value)) ? Number(value) : value}, name);
}).filter(Boolean).join(', ');

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
    format(valueOf(row.field)?.kind ?? 'number', number);
  const verdict = (row) => el('span', {class: {better: 'good', worse: 'bad', INVALID: 'bad'}[row.verdict]},
    row.verdict + (row.why ? ': ' + row.why : ''));
  const cells = (row) => [inWords(row.short), verdict(row), isNumber(row.ratio_median) ? row.ratio_median.toFixed(3) : '–', bar(row),
    isNumber(row.ratio_low) && row.interval_coverage > 0 ? `${row.ratio_low.toFixed(3)} – ${row.ratio_high.toFixed(3)}` : '',
    row.p_value < 1 ? row.p_value.toFixed(3) : '', text(row, row.before), text(row, row.after)];
  const lists = [[`Only in ${before}`, rest.only_before], [`Only in ${after}`, rest.only_after],
    ['What else changed', rest.environment_changes]].filter(([, lines]) => lines.length > 0);
  return card(`${after} against ${before}`, {id: 'comparison'},
    el('p', {class: 'dim'}, `Ratios of ${after} over ${before} with their 95 % intervals. A change counts beyond ` +
      `${digits(100 * threshold)} % (grey) and beyond chance.${common ? ` All: ${inWords(common)}.` : ''}`),
    tableOf(['measurement', 'verdict', 'ratio', `${digits(1 / reach)} … 1 … ${digits(reach)}`, 'interval', 'p', before, after],
      compared.map((row) => ({class: row.verdict === 'INVALID' && 'invalid', cells: cells(row)})), {text: [0, 1]}),
    ...lists.map(([heading, lines]) => fold(`${heading} (${lines.length})`, list(lines))));
}

// ---- Prices, environment

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
  if (name.includes('bytes_per_s')) return format('bandwidth', value);
  if (name.endsWith('_bytes') || name === 'bytes') return format('bytes', value);
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

function environment() {
  const section = (name) => [el('h4', {}, name),
    fieldsTable(data.results.map((result) => result.document[name] ?? {}), data.results.map((result) => result.label))];
  const regions = data.results.flatMap(({label, document: one}) =>
    (one.regions ?? []).map((region) => ({label: ofResult(label, region.name), region})));
  return card('Where and how this was measured', {id: 'environment'}, ...section('environment'),
    ...(regions.length === 0 ? [] : [el('h4', {}, 'memory that was really used'),
      fieldsTable(regions.map((entry) => entry.region), regions.map((entry) => entry.label))]),
    ...section('calibration'), ...section('command'));
}

// ---- The first screen

function invalidRows(bad) {
  const listed = 50, first = 5;
  // What tells it from the other rows of its benchmark.
  const axes = new Map(all.flatMap(({rows: some}) => some.map((row) => [row, varying(some)])));
  const apart = (row) => axes.get(row).filter(({name}) => !['threads', 'subject'].includes(name))
    .map(({name}) => phrase(row, name)).filter(Boolean).map((text) => ', ' + text).join('');
  const lines = bad.slice(0, listed)
    .map((row) => `${row.subject} ${row.operation}, ${phrase(row, 'threads')}${apart(row)}: ${row.valid}`);
  return el('section', {class: 'card invalid', id: 'invalid'},
    el('h2', {class: 'bad'}, `INVALID: ${bad.length} of ${rows.length} rows must not be believed`), list(lines.slice(0, first)),
    lines.length > first ? fold(`${lines.length - first} more`, list(lines.slice(first))) : null,
    bad.length > listed ? el('p', {}, `and ${bad.length - listed} more; they are marked where they stand`) : null);
}

function head() {
  const machine = ({environment: e}) =>
    [e.cpu_model, e.kernel, e.compiler, e.utc_time].filter(Boolean).join(', ') || 'machine not recorded';
  // The first is what was asked about; the rest stands below, under environment.
  const memory = ({regions: [first] = []}) =>
    first?.spec && `memory ${first.spec}${first.durability === 'none' ? ' (no power durability)' : ''}`;
  return el('header', {id: 'top'}, el('h1', {}, data.title), ...data.results.map(({label, document: one}) =>
    el('p', {class: 'dim'}, ofResult(label, [machine(one), memory(one), `${one.rows.length} rows`].filter(Boolean).join('; ')))));
}

// ---- Charts by question

const all = [...Map.groupBy(rows, (row) => JSON.stringify([row.experiment ?? '', row.operation])).values()].map(benchmarkOf);
const idOf = new Map(all.map((one, i) => [one, 'b' + i]));

// In the order of QUESTIONS and SUITES. Within one, files in a folder `raw` ask the plain question and come first, and
// so does what goes through memory in order; stores have an order of their own.
function byQuestion() {
  const order = [...Object.values(QUESTIONS), ...Object.values(SUITES)];
  const place = (list, one) => list.indexOf(one) < 0 ? list.length : list.indexOf(one);
  const plain = ({operation, rows: [row]}) => 100 * place(STORE_OPERATIONS, operation) +
    (/(^|\/)raw\//.test(known.get(operation)?.file ?? '') ? 0 : 2) + (inOrder(row) ? 0 : 1);
  return [...Map.groupBy(all, ({question}) => question)].toSorted(([a], [b]) => place(order, a) - place(order, b))
    .map(([question, some], i) => ({question, id: 'q' + i, some: some.toSorted((a, b) => plain(a) - plain(b))}));
}

function contents(groups, others) {
  const wide = window.matchMedia('(min-width: 40rem)').matches;
  const block = (heading, links) => el('details', {open: wide}, el('summary', {}, heading),
    el('ul', {}, ...links.map(([to, text]) => el('li', {}, el('a', {href: '#' + to}, text)))));
  return el('nav', {}, ...groups.map(({question, some}) => block(question, some.map((one) => [idOf.get(one), one.title]))),
    block('More', others));
}

// Finds the cards that have all words of the search in their texts, unfolds what is folded, and leads back to the top.
function tools(groups) {
  const texts = new Map(all.map((one) => [idOf.get(one), document.getElementById(idOf.get(one))]));
  const found = el('span', {class: 'dim', role: 'status'});
  const search = (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [id, node] of texts) {
      const text = node.textContent.toLowerCase(), hit = words.every((word) => text.includes(word));
      node.hidden = !hit;
      document.querySelector(`nav a[href="#${id}"]`).parentElement.hidden = !hit;
      count += hit;
    }
    for (const {id} of groups) document.getElementById(id).hidden = !document.querySelector(`#${id} section:not([hidden])`);
    found.textContent = words.length > 0 ? `${count} of ${texts.size}` : '';
  };
  const unfold = (event) => {
    const open = event.currentTarget.getAttribute('aria-pressed') !== 'true';
    document.querySelectorAll('main section details').forEach((details) => { details.open = open; });
    event.currentTarget.setAttribute('aria-pressed', String(open));
    event.currentTarget.textContent = open ? 'Fold all' : 'Unfold all';
  };
  return el('div', {class: 'tools'}, el('a', {href: '#top'}, 'Top'),
    el('input', {type: 'search', placeholder: 'Search', 'aria-label': 'search the charts', oninput: search}), found,
    el('button', {type: 'button', 'aria-pressed': 'false', onclick: unfold}, 'Unfold all'));
}

// In full, what descriptions cite as "Benson 2023".
function papers() {
  const sources = all.map(({source}) => source).join('\n');
  const cited = data.papers.filter((paper) =>
    sources.includes(paper.match(/^[^:,]*/)[0]) && sources.includes(paper.match(/\d{4}$/)?.[0]));
  return cited.length === 0 ? null : card('Papers', {id: 'papers'}, list(cited));
}

function build() {
  const bad = rows.filter((row) => !valid(row)), groups = byQuestion();
  const notes = data.results.flatMap(({label, document: one}) => (one.warnings ?? []).map((line) => ofResult(label, line)));
  const others = [data.comparison && ['comparison', 'comparison'], data.prices && ['prices', 'prices'],
    ['environment', 'where and how this was measured']].filter(Boolean);
  const link = (row) => '#' + idOf.get(all.find(({rows: some}) => some.includes(row)));
  const parts = [head(), bad.length > 0 ? invalidRows(bad) : null, answers(link),
    notes.length === 0 ? null : el('section', {class: 'card warnings', id: 'warnings'},
      fold(`Notes on this run (${notes.length})`, list(notes))),
    contents(groups, others), data.comparison ? comparison(data.comparison) : null,
    ...groups.map(({question, id, some}) => el('section', {class: 'question', id}, el('h2', {}, question),
      el('div', {class: 'cards'}, ...some.map((one) => benchmarkCard(one, idOf.get(one)))))),
    data.prices ? prices(data.prices) : null, environment(), papers(),
    el('p', {class: 'dim'}, 'Points are medians, hollow ones carry a warning; bars are intervals ' +
    'of order statistics over the repetitions, which cover the median with the probability that their rows state (93.75 % ' +
    'for five). GiB are 2^30 bytes. Written by holdfast bench report; this file loads nothing.')];
  report.replaceChildren(...parts.filter(Boolean));
  report.prepend(tools(groups));
  document.documentElement.dataset.ready = 'true';
}

window.addEventListener('beforeprint', () =>
  document.querySelectorAll('details').forEach((details) => { details.open = true; }));
build();
