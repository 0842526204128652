// charts.js: lines with error bars, latency curves and heat maps, in SVG that is drawn anew when its place changes width.

const colour = (index) => `var(--s${index % 8})`;
const dash = (index) => ['', '7 3', '2 3', '9 3 2 3'][Math.floor(index / 8) % 4];

// Round numbers of `unit`s up to `top`, or, on a scale of powers, between `bottom` and `top`.
function ticks(bottom, top, unit, powers) {
  if (powers) {
    const all = [];
    for (let power = 10 ** Math.floor(Math.log10(bottom / unit)); power * unit <= top; power *= 10)
      all.push(power * unit, 2 * power * unit, 5 * power * unit);
    return all.filter((tick) => tick >= bottom && tick <= top);
  }
  const raw = top / unit / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= raw) * power * unit;
  if (!(step > 0)) return [0];  // Below what a step can be made of.
  return Array.from({length: Math.floor(top / step * 1.0001) + 1}, (_, i) => i * step);
}

// ---- What the pointer points at

const tip = document.getElementById('tip');
const hideTip = () => { tip.hidden = true; };

function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const rightmost = window.scrollX + document.documentElement.clientWidth - tip.offsetWidth - 4;
  tip.style.left = Math.max(4, Math.min(event.pageX + 12, rightmost)) + 'px';
  tip.style.top = (event.pageY + 14) + 'px';
}

// The nearest of the points ({x, y, text}) speaks, from 40 pixels on.
function speakingPoints(drawing, width, points) {
  drawing.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect(), scale = width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let best, distance = 40;
    for (const point of points) {
      const d = Math.hypot(point.x - x, point.y - y);
      if (d < distance) [best, distance] = [point, d];
    }
    if (best) showTip(event, best.text); else hideTip();
  });
  drawing.addEventListener('pointerleave', hideTip);
}

function tipText(row, line, value) {
  const number = middle(row, value), [least, most] = [low(row, value), high(row, value)];
  const lines = [line.name, `${value.label}: ${isNumber(number) ? value.format(number) : 'none'}`];
  if (isNumber(least) && least !== most)
    lines.push(`interval ${value.format(least)} to ${value.format(most)}, ${row.repetitions} repetitions`);
  if (note(row)) lines.push(note(row));
  return lines.join('\n');
}

// ---- The frame of a drawing

// Draws into `box` at its present width, and again when that changes; returns how to draw anew.
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
  const toggle = (line) => (event) => {
    if (!hidden.delete(line.name)) hidden.add(line.name);
    event.currentTarget.setAttribute('aria-pressed', String(!hidden.has(line.name)));
    redraw();
  };
  const sample = ({index}) => svg('svg', {width: 26, height: 10, 'aria-hidden': 'true'}, svg('line', {
    x1: 0, y1: 5, x2: 26, y2: 5, 'stroke-width': 3, style: `stroke:${colour(index)}`, 'stroke-dasharray': dash(index)}));
  const entry = (line) => el('button',
    {type: 'button', 'aria-pressed': String(!hidden.has(line.name)), onclick: toggle(line)}, sample(line), line.name);
  return el('ul', {class: 'legend'}, ...series.map((line) => el('li', {}, entry(line))));
}

// The inner rectangle of a drawing, and the elements that any of them has.
function frame(width, height, label) {
  const left = 74, right = width - 14, top = 14, bottom = height - 44;
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
  const text = (content, x, y, anchor, name) =>
    drawing.append(svg('text', {class: name, x, y, 'text-anchor': anchor}, content));
  return {
    drawing, left, right, top, bottom, text,
    level: (y, label) => {
      drawing.append(svg('line', {class: 'axis', x1: left, x2: right, y1: y, y2: y}));
      text(label, left - 8, y + 4, 'end', 'level');
    },
    below: (label, x, anchor = 'middle') => text(label, x, bottom + 18, anchor),
    title: (label) => text(label, (left + right) / 2, height - 6, 'middle', 'title'),
    line: (points, line, name) => drawing.append(svg('polyline', {
      class: name, style: `stroke:${colour(line.index)}`, 'stroke-dasharray': dash(line.index),
      points: points.map(({x, y}) => `${x},${y}`).join(' ')})),
  };
}

// ---- A value over the values of `x`: lines, points, error bars, published numbers as dashed lines across

function lineChart(width, {series, x, value, claims, hidden, powers}) {
  const shown = series.filter((line) => !hidden.has(line.name));
  const all = shown.flatMap((line) => line.rows);
  const f = frame(width, Math.max(260, Math.min(380, width * 0.55)), `${value.label} over ${x ? nameOf(x.name) : 'nothing'}`);
  const numbers = all.filter(valid).flatMap((row) => [middle(row, value), low(row, value), high(row, value)])
    .concat(claims.flatMap((claim) => [claim.value, claim.low, claim.high])).filter(isNumber);
  const most = Math.max(...numbers, 0) || 1;
  // Nine powers of ten below the largest is as good as nothing.
  const least = Math.max(Math.min(...numbers.filter((number) => number > 0), most) * 0.8, most * 1e-9);
  // What is INVALID does not set the scale; what of it lies beyond is marked above it.
  const room = all.some((row) => !valid(row) && middle(row, value) > most) ? 1.15 : 1.06;
  const limit = most * (powers ? room ** 4 : room);
  const share = (v) => powers ? Math.log(Math.max(v, least) / least) / Math.log(limit / least) : v / limit;
  const level = (v) => f.top + (f.bottom - f.top) * (1 - Math.max(0, Math.min(1, share(v))));
  const labels = x ? x.values : [''];
  const column = (f.right - f.left) / labels.length;
  const place = (row) => f.left + column * ((x ? labels.indexOf(row[x.name]) : 0) + 0.5);

  for (const tick of ticks(least, most, value.unit(most), powers)) f.level(level(tick), value.format(tick));
  const every = Math.ceil(56 / column);
  labels.forEach((label, i) => {
    if (x && i % every === 0) f.below(readable(x.name, label), f.left + column * (i + 0.5));
  });
  if (x) f.title(nameOf(x.name));

  const {names, points} = publishedLines(f, claims, level, width);
  shown.forEach((line) => {
    // Side by side, so that bars at the same place can be told apart.
    const offset = (line.index - (series.length - 1) / 2) * Math.min(5, 60 / series.length);
    const spots = line.rows.map((row) => ({row, number: middle(row, value), x: place(row) + offset}))
      .map((spot) => ({...spot, y: level(isNumber(spot.number) ? spot.number : 0), text: tipText(spot.row, line, value)}));
    const good = spots.filter(({row, number}) => valid(row) && isNumber(number));
    if (x?.numeric) f.line(good.toSorted((a, b) => a.x - b.x), line, 'series');
    for (const spot of good) drawPoint(f.drawing, spot, line, value, level);
    const bad = spots.filter(({row}) => !valid(row));
    for (const spot of bad) {
      if (spot.number > limit) spot.y = f.top + 6;
      f.drawing.append(svg('path', {class: 'invalid', d: `M${spot.x - 6},${spot.y - 6}l12,12m0,-12l-12,12`}));
      f.text('INVALID', spot.x + 9, spot.y + 4, 'start', 'invalid-name');
    }
    points.push(...good, ...bad);
  });
  f.drawing.append(names);  // Last, and with a rim: over the lines they can still be read.
  speakingPoints(f.drawing, width, points);
  return f.drawing;
}

// A point with a warning is hollow.
function drawPoint(drawing, {row, x, y}, line, value, level) {
  const [least, most] = [low(row, value), high(row, value)], stroke = `stroke:${colour(line.index)}`;
  if (isNumber(least) && isNumber(most) && most > least)
    drawing.append(svg('path', {class: 'error-bar', style: stroke, d: `M${x - 4},${level(most)}h8m-4,0V${level(least)}m-4,0h8`}));
  const inside = warningsOf(row).length > 0 ? 'var(--card)' : colour(line.index);
  drawing.append(svg('circle', {cx: x, cy: y, r: 4, style: `${stroke};stroke-width:2;fill:${inside}`}));
}

// Where several claims lie on one another or have no room for a name beside their line, the first one names them: all
// are in the tip and in the table below.
function publishedLines(f, claims, level, width) {
  const names = svg('g'), points = [], taken = [], groups = [];
  for (const claim of claims.toSorted((a, b) => b.value - a.value)) {
    const y = level(claim.value), last = groups.at(-1);
    f.drawing.append(svg('line', {class: 'published', 'data-id': claim.id, x1: f.left, x2: f.right, y1: y, y2: y}));
    if (isNumber(claim.low) && isNumber(claim.high) && claim.high > claim.low) {
      const ends = `M${f.left + 2},${level(claim.high)}h8m-4,0V${level(claim.low)}m-4,0h8`;
      f.drawing.append(svg('path', {class: 'published whole', d: ends}));
    }
    if (last && y - last.y < 4) last.claims.push(claim);
    else groups.push({y, claims: [claim]});
  }
  for (const {y, claims: [first, ...more]} of groups) {
    // No two names over one another: above the line, below it, or not at all.
    const at = [y - 4, y + 11].find((place) => place < f.bottom && taken.every((other) => Math.abs(other - place) >= 12));
    if (at !== undefined) {
      taken.push(at);
      const text = (width < 500 ? first.short : first.label) + (more.length > 0 ? `, and ${more.length} more` : '');
      names.append(svg('text', {class: 'published', x: f.left + 14, y: at}, text));
    }
    const tip = [first, ...more].map((claim) => claim.tip).join('\n\n');
    for (let x = f.left + 10; x < f.right; x += 30) points.push({x, y, text: tip});
  }
  return {names, points};
}

// ---- Latency over the share of operations that took no longer, both on scales that spread the tail

const NINES = [[0, '0 %'], [Math.log10(2), '50 %'], [1, '90 %'], [2, '99 %'], [3, '99.9 %'], [4, '99.99 %'], [5, '99.999 %']];

function latencyChart(width, series, hidden) {
  const f = frame(width, Math.max(240, Math.min(340, width * 0.5)), 'latency by percentile');
  const curves = series.filter((line) => !hidden.has(line.name))
    .flatMap((line) => line.rows.map((row) => ({line, curve: row.latency_curve_ns.map((ns) => Math.max(1, ns))})));
  const all = curves.flatMap(({curve}) => curve);
  const least = Math.floor(Math.log10(Math.min(...all, 1e9)));
  const most = Math.max(Math.ceil(Math.log10(Math.max(...all, 1))), least + 1);
  const nines = Math.max(...curves.map(({curve}) => (curve.length - 1) * data.curve_step), 1);
  const across = (nine) => f.left + (f.right - f.left) * nine / nines;
  const level = (ns) => f.bottom - (f.bottom - f.top) * (Math.log10(ns) - least) / (most - least);

  for (let power = least; power <= most; ++power) f.level(level(10 ** power), short(FORMATS.time(10 ** power)));
  for (const [nine, label] of NINES) {
    if (nine > nines + 0.01 || (nine > 0 && nine < 1 && width < 500)) continue;
    f.drawing.append(svg('line', {class: 'axis', x1: across(nine), x2: across(nine), y1: f.top, y2: f.bottom}));
    f.below(label, across(nine), nine === 0 ? 'start' : nine > nines - 0.3 ? 'end' : 'middle');
  }
  f.title('share of operations that took at most this long');
  const points = curves.flatMap(({line, curve}) => {
    const spots = curve.map((ns, i) => {
      const nine = i * data.curve_step, percent = (100 * (1 - 10 ** -nine)).toFixed(Math.max(0, Math.ceil(nine) - 1));
      return {x: across(nine), y: level(ns), text: `${line.name}\n${percent} %: ${FORMATS.time(ns)}`};
    });
    f.line(spots, line, 'series latency');
    return spots;
  });
  speakingPoints(f.drawing, width, points);
  return f.drawing;
}

// ---- Heat maps: two numeric parameters that vary, a map for each combination of the rest

function heatMaps(some, axes, value) {
  const numeric = axes.filter((axis) => axis.numeric);
  if (numeric.length < 2) return null;
  const down = numeric.find((axis) => axis.name === 'threads') ?? numeric[0];
  const across = numeric.filter((axis) => axis !== down).toSorted((a, b) => b.values.length - a.values.length)[0];
  const maps = Map.groupBy(some, (row) => seriesName(row, axes.filter((axis) => axis !== down && axis !== across)));
  const most = Math.max(...some.filter(valid).map((row) => middle(row, value)).filter(isNumber), 0) || 1;
  const cell = (row) => {
    const number = row && middle(row, value);
    if (row && !valid(row)) return el('td', {class: 'invalid', title: row.valid}, 'INVALID');
    if (!isNumber(number)) return el('td', {class: 'none'}, '–');
    const share = number / most;
    return el('td', {style: `--v:${share.toFixed(3)}`, class: share > 0.75 && 'strong'}, value.format(number));
  };
  const line = (here, d) => el('tr', {}, el('th', {}, readable(down.name, d)),
    ...across.values.map((a) => cell(here.find((row) => row[down.name] === d && row[across.name] === a))));
  const map = ([name, here]) => el('div', {}, el('table', {class: 'heat'}, el('caption', {}, name),
    el('thead', {}, el('tr', {}, el('th', {class: 'text'}, `${nameOf(down.name)} \\ ${nameOf(across.name)}`),
      ...across.values.map((a) => el('th', {}, readable(across.name, a))))),
    el('tbody', {}, ...down.values.map((d) => line(here, d)))));
  return el('div', {}, el('h3', {}, `${value.label} by ${nameOf(down.name)} and ${nameOf(across.name)}`),
    el('div', {class: 'heats'}, ...[...maps].map(map)));
}
