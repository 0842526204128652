// words.js: what the names in a result are called on the page, and which question a benchmark answers.

// A parameter: its `name`, its `values` where the word in the file explains nothing, `end` where 0 stands for all there
// is, and what is `said` of it in a list: of the text of its value, and the value itself.
const WORDS = {
  threads: {said: (text, n) => n === 1 ? '1 thread' : `${text} threads`},
  access_bytes: {name: 'access size', said: (text) => `${text} accesses`},
  access_kind: {name: 'access', said: (text) => text,
    values: {read: 'reads', write: 'writes', 'stream-read': 'streaming reads'}},
  exec_mode: {name: 'order', said: (text) => text,
    values: {sequential_desc: 'descending', custom: 'chains', chase: 'each address read before'}},
  memory_range_bytes: {name: 'range', said: (text) => `over ${text}`},
  dram_memory_range_bytes: {name: 'range in DRAM', said: (text) => `over ${text} of DRAM`},
  region: {name: 'memory', values: {target: 'the target', dram: 'DRAM'}, said: (text) => `in ${text}`},
  dram_region: {name: 'memory of the DRAM part', values: {dram: 'DRAM'}, said: () => ''},
  persist_instruction: {name: 'persist instruction', said: (text) => text,
    values: {nocache: 'ntstore', cache: 'clwb', cacheinv: 'clflushopt', flush: 'clflush', none: 'not flushed'}},
  fence_every_operations: {name: 'writes between two fences', end: 'all',
    said: (text, n) => n === 0 ? 'a fence at the end' : n === 1 ? 'a fence after each' : `a fence after ${text}`},
  fence_every_bytes: {name: 'bytes between two fences', end: 'all',
    said: (text, n) => n === 0 ? 'a fence at the end' : `a fence after ${text}`},
  chase_window_bytes: {name: 'window of the reads', end: 'the range',
    said: (text, n) => n === 0 ? 'over the whole range' : `within ${text} at a time`},
  random_distribution: {name: 'distribution', said: (text) => text},
  distribution: {name: 'distribution', said: (text) => text},
  durability: {name: 'survives', said: (text) => text,
    values: {power: 'survives power loss', assumed: 'assumed to survive power loss', process: 'survives its process',
      none: 'not durable'}},
  zipf_alpha: {name: 'skew'},
  dram_operation_ratio: {name: 'share of accesses to DRAM'},
  write_ratio: {name: 'share of writes'},
  stride_bytes: {name: 'stride'},
  delay_ns: {name: 'pause between accesses', said: (text, n) => n === 0 ? 'no pause' : `a pause of ${text}`},
  delay_every_operations: {name: 'accesses between two pauses'},
  grouping: {name: 'division', said: (text) => text,
    values: {packages: 'in packages', grouped: 'grouped', individual: 'individual'}},
  thread_pinning: {name: 'pinning', said: (text) => text,
    values: {none: 'not pinned', node: 'pinned to the node', core: 'pinned to cores'}},
  numa_pattern: {name: 'socket', said: (text) => text,
    values: {near: 'from the near socket', far: 'from the far socket', both: 'from both sockets'}},
  number_partitions: {name: 'partitions', end: 'one for each thread'},
  min_io_chunk_bytes: {name: 'work package'},
  latency_sample_frequency: {name: 'timed', said: (text) => `one of ${text} timed`},
  prefault_file: {name: 'touched before', values: {true: 'yes', false: 'no'}},
  dram_huge_pages: {name: 'huge pages in DRAM', values: {true: 'yes', false: 'no'}},
  custom_operations: {name: 'chain', said: (text) => text},
  suite: {name: 'suite', said: () => ''},
  part: {name: 'part', said: (text) => text},
  beside: {name: 'beside', said: (text) => `beside ${text}`},
  subject: {name: 'subject', said: (text) => text},
  result: {name: 'result', said: (text) => text},
};
// As a workload file spells what `beside` holds.
const KEYS = {number_threads: 'threads', access_size: 'access_bytes', memory_range: 'memory_range_bytes',
  operation: 'access_kind', chase_window: 'chase_window_bytes', stride: 'stride_bytes', delay: 'delay_ns'};

const nameOf = (parameter) => WORDS[parameter]?.name ??
  parameter.replace(/_bytes$/, ' size').replace(/_n?s$/, '').replaceAll('_', ' ');
// Whether a value stands for more than any other: chase_window_bytes 0 is the whole range.
const isEnd = (name, value) => value === 0 && WORDS[name]?.end !== undefined;

// "r_256,w_64_cache_128,w_64_cache_-128" is a read and two writes of a line.
function chainText(text) {
  const steps = text.split(',').map((step) => step.trim().match(/^([rw])([pd]?)_?(\d+K?)(?:_([a-z]+))?(?:_-?\d+)?$/));
  if (steps.some((step) => !step)) return text;
  const words = steps.map(([, kind, where, bytes, persist]) =>
    `${kind === 'r' ? 'read' : 'write'} ${bytes.replace('K', ' Ki')}${bytes.endsWith('K') ? 'B' : ' B'}` +
    (where === 'd' ? ' of DRAM' : '') + (persist ? ` (${WORDS.persist_instruction.values[persist] ?? persist})` : ''));
  const runs = [];
  for (const word of words) {
    if (runs.at(-1)?.word === word) ++runs.at(-1).count;
    else runs.push({word, count: 1});
  }
  return runs.map(({word, count}) => count > 1 ? `${count} × ${word}` : word).join(', ');
}

// "16K" as a workload file says it; a time is in nanoseconds. Nothing where it is no number.
const FACTORS = {'': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30,
  ns: 1, us: 1e3, ms: 1e6, s: 1e9};
function numberOf(text) {
  const [, digits, unit] = String(text).match(/^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/) ?? [];
  return FACTORS[unit] ? Number(digits) * FACTORS[unit] : undefined;
}

// "log number_threads=5 region=dram" of the other part of a pair, in words; without the `common` ones.
const settingsBeside = (text) => String(text).split(/ (?=[a-z_]+=)/);
function besideText(text, common = []) {
  const [part, ...settings] = settingsBeside(text);
  const words = settings.filter((setting) => !common.includes(setting)).map((setting) => {
    const [key, value] = [setting.slice(0, setting.indexOf('=')), setting.slice(setting.indexOf('=') + 1)];
    const name = KEYS[key] ?? key, number = numberOf(value);
    return said(name, readable(name, number ?? value), number);
  });
  return [part.replaceAll('_', ' '), ...words].filter(Boolean).join(', ');
}

// access_bytes 4096 is 4 KiB.
function readable(name, value) {
  if (value === undefined || value === null) return '–';
  const words = WORDS[name];
  if (isEnd(name, value)) return words.end;
  if (words?.values && Object.hasOwn(words.values, String(value))) return words.values[value];
  if (isNumber(value) && /_bytes$/.test(name)) return short(format('bytes', value));
  if (isNumber(value) && /_ns$/.test(name)) return short(format('time', value));
  if (isNumber(value) && /_ratio$/.test(name)) return short(digits(100 * value)) + ' %';
  if (isNumber(value)) return Number.isInteger(value) ? String(value) : digits(value);
  if (name === 'custom_operations') return chainText(String(value));
  if (name === 'beside') return besideText(String(value));
  return name === 'part' ? String(value).replaceAll('_', ' ') : String(value);
}

function said(name, text, value) {
  return WORDS[name]?.said ? WORDS[name].said(text, value) : `${nameOf(name)} ${text}`;
}
// "2 threads", "4 KiB accesses", "floor"; nothing where a row has no such parameter.
const phrase = (row, name) => row[name] === undefined || row[name] === null ? ''
  : said(name, name === 'beside' ? besideText(row.beside, row.common) : readable(name, row[name]), row[name]);

// ---- Questions

const KV_WRITES = /^(put|overwrite|update|erase|group|waiters|fill|load)/;
const SUITES = {access: 'What does the medium deliver?', log: 'What does appending to a log cost?',
  page: 'What does writing pages back cost?', field: 'What does replacing a field cost?',
  interleave: 'What does interleaving lookups gain?', interference: 'What do scans, lookups, logs and pages cost each other?',
  pmdk: 'What do the components of PMDK cost?'};
const QUESTIONS = {
  read: 'How fast can it be read?',
  write: 'How fast can it be written?',
  latency: 'How long does one access take?',
  loaded: 'How does latency grow with the load?',
  beside: 'What do tasks beside each other cost each other?',
  structures: 'What do indexes get from it?',
  tiers: 'What do two tiers give together?',
  records_in: 'How fast do stores write?',
  records_out: 'How fast do stores read?',
  opening: 'How fast do stores open?',
  records_mixed: 'How fast are mixed workloads?',
};

// By what the rows say of themselves, so that a workload of one's own finds its place, too.
function questionOf(some) {
  const has = (name, wanted) => some.some((row) => row[name] === wanted);
  const [row] = some;
  if (row.suite) return SUITES[row.suite] ?? `Suite ${row.suite}`;
  if (row.tool === 'kv bench' || row.records !== undefined)
    return /^ycsb/.test(row.operation) ? QUESTIONS.records_mixed
      : /^open/.test(row.operation) ? QUESTIONS.opening
      : KV_WRITES.test(row.operation) ? QUESTIONS.records_in : QUESTIONS.records_out;
  if (row.part !== undefined) return has('exec_mode', 'chase') ? QUESTIONS.loaded : QUESTIONS.beside;
  if (row.dram_operation_ratio > 0 || has('dram_operation_ratio', 0) || /interleav/.test(row.region)) return QUESTIONS.tiers;
  if (aboutLatency(some)) return QUESTIONS.latency;
  if (row.custom_operations !== undefined) return QUESTIONS.structures;
  if (row.write_ratio > 0 && row.write_ratio < 1 || has('write_ratio', 0)) return QUESTIONS.beside;
  return /read/.test(row.access_kind ?? (row.persist_instruction ?? 'read')) ? QUESTIONS.read : QUESTIONS.write;
}

// What chases pointers, has its operations timed, or is called so.
const aboutLatency = (some) =>
  /latency/.test(some[0].operation + some[0].experiment) || some.some((row) => row.exec_mode === 'chase');
