// charts.js: lines with error bars, bars with names, latency curves and heat maps.

// ---- A value over a parameter, or over another value: lines, points, error bars, and beside them what was published

// `across` says where rows stand: {title, labels: [{at, label}], at(row) from 0 to 1, span(row), sorted(rows)}.
function acrossParameter(x) {
  const places = placesOf(x), at = (row) => places.find(({value}) => value === row[x.name]).at;
  return {
    title: nameOf(x.name), labels: places.map(({value, at: place}) => ({at: place, label: readable(x.name, value)})),
    at, span: () => null, sorted: (some) => some.toSorted((a, b) => at(a) - at(b)),
  };
}

// The rows of a line stay in their order: along a load that grows, bandwidth may well fall.
function acrossValue(some, value) {
  const scale = scaleFor(some, value, [], false);
  return {
    title: `${value.label} (${better(value)})`,
    labels: scale.ticks.map((tick) => ({at: scale.share(tick), label: scale.text(tick)})),
    even: true, at: (row) => scale.share(middle(row, value)),
    span: (row) => isNumber(low(row, value)) ? [scale.share(low(row, value)), scale.share(high(row, value))] : null,
    sorted: (some) => some,
  };
}

// `said` of a row is written beside its point.
function lineChart(width, {series, across, value, scale, claims = [], hidden = new Set(), said = () => '', idle}) {
  const room = claims.length === 0 ? 14 : width >= 600 ? 232 : width >= 460 ? 140 : 30;
  const height = Math.max(260, Math.min(380, width * 0.55));
  const f = frame(width, height, `${value.label} over ${across.title}`, room);
  const level = (v) => f.top + (f.bottom - f.top) * (1 - scale.share(v));
  const place = (share) => f.left + (f.right - f.left) * share;
  for (const tick of scale.ticks) f.level(level(tick), scale.text(tick));
  const labels = across.labels.map(({at, label}) => ({x: place(at), label}));
  f.labels(across.even ? evenly(labels) : labels);
  f.title(across.title);

  const points = publishedMarks(f, claims, value, scale, level, room);
  if (idle) {
    f.drawing.append(svg('line', {class: 'idle', x1: f.left, x2: f.right, y1: level(idle.number), y2: level(idle.number)}));
    f.text(idle.text, f.right - 4, level(idle.number) - 5, 'end', 'said');
  }
  const shown = series.filter((line) => !hidden.has(line.name));
  shown.forEach((line) => {
    // Side by side, so that bars at the same place can be told apart.
    const offset = (line.index - (series.length - 1) / 2) * Math.min(3, 30 / series.length);
    const spots = across.sorted(line.rows).map((row) => ({row, number: middle(row, value), x: place(across.at(row)) + offset}))
      .map((spot) => ({...spot, y: level(isNumber(spot.number) ? spot.number : 0), text: tipText(spot.row, line.name, value)}));
    const good = spots.filter(({row, number}) => valid(row) && isNumber(number));
    f.line(good, line, 'series');
    for (const spot of good) drawPoint(f, spot, line, value, level, across, place);
    sayBeside(f, good, said);
    const bad = spots.filter(({row}) => !valid(row));
    for (const spot of bad) {
      if (spot.number > scale.top) spot.y = f.top + 6;
      f.drawing.append(invalidMark(spot.x, spot.y));
      f.text('INVALID', spot.x + 9, spot.y + 4, 'start', 'invalid-name');
    }
    points.push(...good, ...bad);
  });
  speakingPoints(f.drawing, width, points);
  return f.drawing;
}

// Above the point, or below it where another word is; the tip has it in any case.
function sayBeside(f, spots, said) {
  const taken = [];
  for (const {row, x, y} of spots) {
    const text = said(row), at = [y - 8, y + 17].find((place) =>
      taken.every((other) => Math.abs(other.x - x) > 6 * text.length + 8 || Math.abs(other.y - place) > 12));
    if (!text || at === undefined) continue;
    taken.push({x, y: at});
    f.text(text, x, at, 'middle', 'said');
  }
}

function drawPoint(f, {row, x, y}, line, value, level, across, place) {
  const [least, greatest] = [low(row, value), high(row, value)], style = `stroke:${colour(line.index)}`;
  if (isNumber(least) && isNumber(greatest) && greatest > least)
    f.drawing.append(svg('path', {class: 'error-bar', style, d: `M${x - 4},${level(greatest)}h8m-4,0V${level(least)}m-4,0h8`}));
  const span = across.span(row);
  if (span) f.drawing.append(svg('path', {class: 'error-bar across', style, d: `M${place(span[0])},${y}H${place(span[1])}`}));
  f.drawing.append(mark(line, x, y, warningsOf(row).length > 0));
}

// As much of a text as the room has place for.
const ruler = document.createElement('canvas').getContext('2d');
function fitted(text, room) {
  ruler.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  while (text.length > 1 && ruler.measureText(text).width > room) text = text.slice(0, -2) + '…';
  return text;
}

// What was published stands on the right of the points, never among them: a mark at its level, an arrow where it lies
// beyond the scale, and its name where there is room. All are in the list below the chart.
function publishedMarks(f, claims, value, scale, level, room) {
  const points = [], lowest = f.bottom - 2;
  let free = f.top - 4;  // No two names over one another.
  const sorted = claims.toSorted((a, b) => b.value - a.value);
  const names = room < 100 ? 0 : Math.floor((f.bottom - f.top) / 13);
  sorted.forEach((claim, i) => {
    const beyond = claim.value > scale.top, y = beyond ? f.top : level(claim.value);
    const x = f.right + 4;
    const d = beyond ? `M${x},${y + 8}l5,-8l5,8` : `M${x},${y}h12`;
    f.drawing.append(svg('path', {class: 'published', 'data-id': claim.id, d}));
    points.push({x: x + 6, y, text: claimTip(claim, value)});
    if (i >= names) return;
    const rest = sorted.length - names, last = i === names - 1 && rest > 0;
    const at = Math.min(Math.max(y + 4, free + 13), lowest - 13 * (Math.min(names, sorted.length) - 1 - i));
    free = at;
    const threads = claim.threads && room > 200 ? `, ${claim.threads} threads` : '';
    const text = last ? `and ${rest + 1} more, below` : `${show(value, claim.value)} ${claim.hardware_name}${threads}`;
    f.text(fitted(text, room - 22), x + 16, at, 'start', 'published');
    points.push({x: x + 70, y: at - 4, text: claimTip(claim, value)});
  });
  return points;
}

// ---- Bars with a name each: where what varies are words

// `names`: the axes that name a bar; `series`: a colour each. Where there are many, the last axis names the bars, and
// the others stand above them.
function barChart(width, {some, names, series, value, scale, claims = [], hidden = new Set()}) {
  const shown = series.filter((line) => !hidden.has(line.name)), bars = seriesOf(some, names);
  const headed = bars.length > LINES_MAX && names.length > 1;
  const groups = !headed ? [{name: '', bars}]
    : seriesOf(some, names.slice(0, -1)).map(({name, rows: own}) => ({name, bars: seriesOf(own, names.slice(-1))}));
  const longest = most(groups.flatMap((group) => group.bars.map(({name}) => name.length)));
  const narrow = width < 520, room = Math.round(narrow ? width : width - Math.min(0.45 * width, 7 * longest + 24));
  const [left, right] = [4, room - 84], height = 18 * shown.length + 4;
  const place = (v) => left + (right - left) * scale.share(v);
  const bar = ({name, rows: own}) => {
    const drawing = svg('svg', {viewBox: `0 0 ${room} ${height}`, width: room, height, role: 'img',
      'aria-label': `${name}: ${value.label}`});
    for (const tick of scale.ticks)
      drawing.append(svg('line', {class: 'axis', x1: place(tick), x2: place(tick), y1: 0, y2: height}));
    // Below the points, which they must not hide.
    const published = claims.filter((one) => one.value <= scale.top && own.some((row) => speaksOf(one, row))).map((claim) => {
      drawing.append(svg('path', {class: 'published', 'data-id': claim.id, d: `M${place(claim.value)},0v${height}`}));
      return {x: place(claim.value), y: height / 2, text: claimTip(claim, value)};
    });
    const points = shown.flatMap((line, i) => own.filter((row) => line.rows.includes(row))
      .map((row) => drawBar(drawing, row, line, {value, scale, place, left, right, y: 11 + 18 * i, name})));
    speakingPoints(drawing, room, [...points, ...published]);
    return el('div', {class: 'bar'}, el('div', {class: 'bar-name'}, name), drawing);
  };
  return el('div', {class: narrow ? 'bars narrow' : 'bars'},
    ...groups.flatMap((group) =>
      [headed ? el('div', {class: 'bar-group'}, group.name) : null, ...group.bars.map(bar)]).filter(Boolean),
    el('div', {class: 'bar'}, el('div', {class: 'bar-name'}), barAxis(room, scale, place)));
}

function barAxis(room, scale, place) {
  const axis = svg('svg', {viewBox: `0 0 ${room} 18`, width: room, height: 18, 'aria-hidden': 'true'});
  const labels = scale.ticks.map((tick) => {
    const label = scale.text(tick);
    return {x: Math.max(place(tick), halfOf(label)), label};
  });
  for (const {x, label} of evenly(labels)) axis.append(svg('text', {class: 'level', x, y: 13, 'text-anchor': 'middle'}, label));
  return axis;
}

function drawBar(drawing, row, line, {value, scale, place, left, right, y, name}) {
  const number = middle(row, value), style = `stroke:${colour(line.index)}`;
  const text = tipText(row, line.name === name ? name : `${name}, ${line.name}`, value);
  if (!valid(row)) {
    const x = isNumber(number) && number <= scale.top ? place(number) : place(scale.top) - 6;
    drawing.append(invalidMark(x, y), svg('text', {class: 'invalid-name', x: x + 10, y: y + 4}, 'INVALID'));
    return {x, y, text};
  }
  if (!isNumber(number)) return {x: left, y, text};
  const x = place(number);
  drawing.append(svg('rect', {class: 'body', x: left, y: y - 5, width: Math.max(0, x - left), height: 10,
    style: `fill:${colour(line.index)}`}));
  const [least, greatest] = [low(row, value), high(row, value)];
  if (isNumber(least) && isNumber(greatest) && greatest > least)
    drawing.append(svg('path', {class: 'error-bar', style, d: `M${place(least)},${y - 4}v8m0,-4H${place(greatest)}m0,-4v8`}));
  const alone = aloneOf(row), before = alone && middle(alone, value);
  if (isNumber(before)) drawing.append(svg('path', {class: 'alone', d: `M${place(before)},${y - 8}v16`}));
  drawing.append(mark(line, x, y, warningsOf(row).length > 0));
  drawing.append(svg('text', {class: 'amount', x: right + 80, y: y + 4, 'text-anchor': 'end'}, show(value, number)));
  return {x, y, text};
}

// ---- Latency over the share of operations that took no longer, both on scales that spread the tail

const NINES = [[0, '0 %'], [Math.log10(2), '50 %'], [1, '90 %'], [2, '99 %'], [3, '99.9 %'], [4, '99.99 %'], [5, '99.999 %']];

function latencyChart(width, series, hidden) {
  const f = frame(width, Math.max(240, Math.min(340, width * 0.5)), 'latency by percentile');
  const curves = series.filter((line) => !hidden.has(line.name))
    .flatMap((line) => line.rows.map((row) => ({line, curve: row.latency_curve_ns.map((ns) => Math.max(1, ns))})));
  const all = curves.flatMap(({curve}) => curve);
  const least = Math.floor(Math.log10(Math.min(...all, 1e9)));
  const greatest = Math.max(Math.ceil(Math.log10(Math.max(...all, 1))), least + 1);
  const nines = Math.max(...curves.map(({curve}) => (curve.length - 1) * data.curve_step), 1);
  const across = (nine) => f.left + (f.right - f.left) * nine / nines;
  const level = (ns) => f.bottom - (f.bottom - f.top) * (Math.log10(ns) - least) / (greatest - least);

  for (let power = least; power <= greatest; ++power) f.level(level(10 ** power), short(format('time', 10 ** power)));
  for (const [nine, label] of NINES) {
    if (nine > nines + 0.01 || (nine > 0 && nine < 1 && width < 500)) continue;
    f.drawing.append(svg('line', {class: 'axis', x1: across(nine), x2: across(nine), y1: f.top, y2: f.bottom}));
    f.text(label, across(nine), f.bottom + 18, nine === 0 ? 'start' : nine > nines - 0.3 ? 'end' : 'middle');
  }
  f.title('share of operations that took at most this long');
  const points = curves.flatMap(({line, curve}) => {
    const spots = curve.map((ns, i) => {
      const nine = i * data.curve_step, percent = (100 * (1 - 10 ** -nine)).toFixed(Math.max(0, Math.ceil(nine) - 1));
      return {x: across(nine), y: level(ns), text: `${line.name}\n${percent} %: ${format('time', ns)}`};
    });
    f.line(spots, line, 'series latency');
    return spots;
  });
  speakingPoints(f.drawing, width, points);
  return f.drawing;
}

// ---- Heat maps: two numeric parameters with three values at least, a map for each combination of the rest

function heatMaps(some, axes, value) {
  const numeric = axes.filter((axis) => axis.numeric && axis.values.length > 2);
  if (numeric.length < 2) return null;
  const down = numeric.find((axis) => axis.name === 'threads') ?? numeric[0];
  const across = numeric.filter((axis) => axis !== down).toSorted((a, b) => b.values.length - a.values.length)[0];
  const rest = axes.filter((axis) => axis !== down && axis !== across);
  const greatest = most(some.filter(valid).map((row) => middle(row, value))) || 1;
  const cell = (row) => {
    const number = row && middle(row, value);
    if (row && !valid(row)) return el('td', {class: 'invalid', title: row.valid}, 'INVALID');
    if (!isNumber(number)) return el('td', {class: 'none'}, '–');
    const share = number / greatest;
    return el('td', {style: `--v:${share.toFixed(3)}`, class: share > 0.75 && 'strong'}, show(value, number, greatest));
  };
  const line = (here, d) => el('tr', {}, el('th', {}, readable(down.name, d)),
    ...across.values.map((a) => cell(here.find((row) => row[down.name] === d && row[across.name] === a))));
  const map = ({name, rows: here}) => el('div', {class: 'scroll'}, el('table', {class: 'heat'},
    el('caption', {}, rest.length > 0 ? name : ''),
    el('thead', {}, el('tr', {}, el('th', {class: 'text'}, `${nameOf(down.name)} \\ ${nameOf(across.name)}`),
      ...across.values.map((a) => el('th', {}, readable(across.name, a))))),
    el('tbody', {}, ...down.values.map((d) => line(here, d)))));
  return fold(`${value.label} by ${nameOf(down.name)} and ${nameOf(across.name)}, as a map`,
    el('div', {class: 'heats'}, ...seriesOf(some, rest).map(map)));
}
