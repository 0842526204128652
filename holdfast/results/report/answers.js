// answers.js: the first screen: what was measured, in a few numbers, each with how many threads it took and the way to
// its chart.

// ---- What a memory delivers

const rate = valueOf('bytes_per_s'), time = valueOf('ns_per_op'), operations = valueOf('ops_per_s');
const bestOf = (some, value) => some.filter((row) => valid(row) && middle(row, value) > 0)
  .toSorted((a, b) => (value.less ? 1 : -1) * (middle(a, value) - middle(b, value)))[0];

const fromOneTier = (row) => !(row.dram_operation_ratio > 0 && row.dram_operation_ratio < 1);
const chases = (row) => row.exec_mode === 'chase' && !(row.chase_window_bytes > 0);
const persisted = (row) => row.access_kind === 'write' && row.persist_instruction !== 'none';
const inOrder = (row) => /^sequential/.test(row.exec_mode ?? '');
// Over more than a few lines, which would stay in the caches.
const spread = (row) => !(row.memory_range_bytes < 2 ** 20);

function smallest(some) {
  const least = Math.min(...some.map((row) => row.access_bytes).filter((bytes) => bytes >= 64));
  return some.filter((row) => row.access_bytes === least);
}

// A question, the rows that answer it, by which value, what to say of the row beside its threads, what the
// calibration knows where no row does, and in what the row of a second memory must be like that of the first.
const MEMORY = [
  {title: 'Read', value: rate, rows: (alone) => alone.filter((row) => /read/.test(row.access_kind ?? '') && inOrder(row)),
    names: ['exec_mode', 'access_bytes'], known: 'memory_read_bytes_per_s'},
  {title: 'Random read', value: rate,
    rows: (alone) => smallest(alone.filter((row) =>
      row.access_kind === 'read' && row.exec_mode === 'random' && row.random_distribution !== 'zipf')),
    names: ['access_bytes'], alike: 'access_bytes'},
  {title: 'Write', value: rate, rows: (alone) => alone.filter((row) => persisted(row) && inOrder(row)),
    names: ['exec_mode', 'access_bytes', 'persist_instruction', 'fence_every_operations'], known: 'memory_stream_bytes_per_s'},
  {title: 'Latency, idle', value: time, rows: (alone) => alone.filter(chases),
    names: ['memory_range_bytes'], known: 'dependent_read_ns'},
  {title: 'Latency, loaded', value: time, loaded: true},
  {title: 'Persist one line', value: time, names: ['exec_mode', 'persist_instruction'], known: 'persist_line_ns',
    rows: (alone) => alone.filter((row) => persisted(row) && spread(row) && row.access_bytes === 64 && row.threads === 1 &&
      !(row.fence_every_operations !== undefined && row.fence_every_operations !== 1))},
];

// The reads that were the slowest because the most went on beside them.
function underLoad(some) {
  const both = valueOf('both_bytes_per_s');
  const row = bestOf(some.filter((one) => one.part !== undefined && chases(one)), both);
  return row && {row, said: `${phrase(row, 'memory_range_bytes')}, beside a load: ${show(both, middle(row, both))} together`};
}

function memoryAnswer(question, some) {
  const alone = some.filter((row) => row.part === undefined && fromOneTier(row));
  const loaded = question.loaded ? underLoad(some) : null;
  const row = question.loaded ? loaded?.row : bestOf(question.rows(alone), question.value);
  if (!row) return null;
  const one = row.threads > 1 && bestOf(question.rows(alone).filter((other) => other.threads === 1), question.value);
  const said = loaded ? loaded.said : question.names.map((name) => phrase(row, name)).filter(Boolean).join(', ');
  return {row, number: show(question.value, middle(row, question.value)), said: `${phrase(row, 'threads')}, ${said}`,
    more: one ? `${show(question.value, middle(one, question.value))} with one` : ''};
}

// The memory that was asked about comes first, and DRAM beside it.
function memoriesOf(some) {
  const names = [...new Set(some.filter((row) => row.part === undefined).map((row) => row.region))];
  const order = ['target', undefined, ...names];
  return names.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)).slice(0, 2);
}

function memoryTiles() {
  const results = data.results.filter(({document: one}) => toolOf(one) !== 'kv bench');
  return MEMORY.map((question) => ({title: question.title, entries: results.flatMap(({label, document: one}) => {
    const own = rows.filter((row) => row.result === label && row.subject === 'holdfast');
    let first = null;
    const alike = (row) => !first || !question.alike || row[question.alike] === first[question.alike];
    const entries = memoriesOf(own).flatMap((region, i) => {
      const answer = memoryAnswer(question, own.filter((row) => row.region === region && alike(row)));
      if (!answer || (question.loaded && i > 0)) return [];
      first ??= answer.row;
      return [{...answer, of: ofResult(label, i === 0 ? '' : readable('region', region))}];
    });
    const known = one.calibration?.[question.known];
    if (entries.length > 0 || !(known > 0)) return entries;
    const threads = question.value === rate ? 'all CPUs' : '1 thread';
    const words = `${threads}, as the calibration found in DRAM`;
    return [{number: show(question.value, known), said: words, more: '', of: ofResult(label, '')}];
  })}));
}

// ---- What stores do

const STORE_OPERATIONS = ['put', 'put_many', 'overwrite', 'get', 'get_many', 'update8', 'erase', 'ycsb-a'];

function storeTiles() {
  return STORE_OPERATIONS.map((operation) => ({title: operation, entries: data.results.flatMap(({label}) => {
    const own = rows.filter((row) => row.result === label && row.tool === 'kv bench' && row.operation === operation);
    const row = bestOf(own.filter((one) => one.subject === 'holdfast'), operations);
    if (!row) return [];
    const beside = own.filter((one) => one.threads === row.threads && !['holdfast', 'holdfast-typed', 'holdfast-pipeline'].includes(one.subject));
    const floor = bestOf(beside.filter((one) => one.subject === 'floor'), operations);
    // A store that keeps less is no peer.
    const peer = bestOf(beside.filter((one) => one.subject !== 'floor' && one.durability !== 'none'), operations);
    return [{row, of: ofResult(label, ''), number: show(operations, middle(row, operations)), said: phrase(row, 'threads'),
      more: [peer && `${peer.subject} ${show(operations, middle(peer, operations))}`,
        floor && `bare memory ${show(operations, middle(floor, operations))}`].filter(Boolean).join(', ')}];
  })}));
}

// `link` makes the way to the chart of a row.
function answers(link) {
  const tiles = [...memoryTiles(), ...storeTiles()].filter(({entries}) => entries.length > 0);
  if (tiles.length === 0) return null;
  const entry = ({row, number, said: words, more, of}) => el('div', {class: 'answer'}, of ? el('div', {class: 'of'}, of) : null,
    row ? el('a', {class: 'number', href: link(row)}, number) : el('span', {class: 'number'}, number),
    el('div', {class: 'dim'}, words), more ? el('div', {class: 'dim'}, more) : null,
    row && warningsOf(row).length > 0 ? el('div', {class: 'warned', title: note(row)}, 'with a warning') : null);
  return el('section', {id: 'answers'}, ...tiles.map(({title, entries}) =>
    el('div', {class: 'tile'}, el('h2', {}, title), ...entries.map(entry))));
}
