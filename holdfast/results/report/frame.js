// frame.js: what all charts have: a place that draws them anew when its width changes, scales, a legend, and the words
// that appear where the pointer is.

const colour = (index) => `var(--s${index % 8})`;

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

// The nearest of the points ({x, y, text}) speaks, from 40 pixels on; to a finger as well.
function speakingPoints(drawing, width, points) {
  const speak = (event) => {
    const box = drawing.getBoundingClientRect(), scale = width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let best, distance = 40;
    for (const point of points) {
      const d = Math.hypot(point.x - x, point.y - y);
      if (d < distance) [best, distance] = [point, d];
    }
    if (best) showTip(event, best.text); else hideTip();
  };
  drawing.addEventListener('pointermove', speak);
  drawing.addEventListener('pointerdown', speak);
  drawing.addEventListener('pointerleave', hideTip);
}

function tipText(row, name, value) {
  const number = middle(row, value), [least, greatest] = [low(row, value), high(row, value)];
  const lines = [name, `${value.label}: ${isNumber(number) ? show(value, number) : 'none'}`];
  if (isNumber(least) && least !== greatest)
    lines.push(`interval ${show(value, least, greatest)} to ${show(value, greatest)}, ${row.repetitions} repetitions`);
  const alone = aloneOf(row);
  if (alone && isNumber(number) && middle(alone, value) > 0)
    lines.push(`alone: ${show(value, middle(alone, value))}; this is ${digits(100 * number / middle(alone, value))} % of it`);
  if (note(row)) lines.push(note(row));
  return lines.join('\n');
}

function claimTip(claim, value) {
  const threads = claim.threads ? `, ${claim.threads} threads` : '';
  return `published: ${claim.how}${show(value, claim.value)}${threads}\n${claim.system} on ${claim.hardware_name}: ` +
    `${claim.hardware}\n${claim.workload}${claim.note ? ` (${claim.note})` : ''}\n${claim.place}`;
}

// ---- Places, marks, legends

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

// A point of a line: eight colours, then eight again as squares, as diamonds. With a warning it is hollow.
function mark({index}, x, y, hollow) {
  const style = `stroke:${colour(index)};stroke-width:2;fill:${hollow ? 'var(--card)' : colour(index)}`;
  const shape = Math.floor(index / 8) % 3;
  if (shape === 0) return svg('circle', {class: 'point', cx: x, cy: y, r: 4, style});
  return svg('rect', {class: 'point', x: x - 3.5, y: y - 3.5, width: 7, height: 7, style,
    transform: shape === 2 ? `rotate(45 ${x} ${y})` : undefined});
}

const invalidMark = (x, y) => svg('path', {class: 'invalid', d: `M${x - 6},${y - 6}l12,12m0,-12l-12,12`});

// None where there is only one line.
function legend(series, hidden, redraw) {
  if (series.length < 2) return null;
  const toggle = (line) => (event) => {
    if (!hidden.delete(line.name)) hidden.add(line.name);
    event.currentTarget.setAttribute('aria-pressed', String(!hidden.has(line.name)));
    redraw();
  };
  const sample = (line) => svg('svg', {width: 26, height: 12, 'aria-hidden': 'true'},
    svg('line', {x1: 0, y1: 6, x2: 26, y2: 6, 'stroke-width': 2, style: `stroke:${colour(line.index)}`}), mark(line, 13, 6));
  const entry = (line) => el('button',
    {type: 'button', 'aria-pressed': String(!hidden.has(line.name)), onclick: toggle(line)}, sample(line), line.name);
  return el('ul', {class: 'legend'}, ...series.map((line) => el('li', {}, entry(line))));
}

// ---- Scales

// Round numbers of `unit`s up to `top`, or, on a logarithmic scale, between `bottom` and `top`.
function ticks(bottom, top, unit, logarithmic) {
  if (logarithmic) {
    const all = [];
    for (let power = 10 ** Math.floor(Math.log10(bottom / unit)); power * unit <= top; power *= 10)
      all.push([1, power * unit], [2, 2 * power * unit], [5, 5 * power * unit]);
    const inside = all.filter(([, tick]) => tick >= bottom && tick <= top);
    return (inside.length > 8 ? inside.filter(([digit]) => digit === 1) : inside).map(([, tick]) => tick);
  }
  const raw = top / unit / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= raw) * power * unit;
  if (!(step > 0)) return [0];  // Below what a step can be made of.
  return Array.from({length: Math.floor(top / step * 1.0001) + 1}, (_, i) => i * step);
}

// The scale of `value` for these rows: {share(number) from 0 to 1, ticks, text(tick), top}. Ours set it; of what was
// published only `claims` do. What is INVALID does not; what of it lies beyond is marked above the scale.
function scaleFor(some, value, claims, logarithmic) {
  const numbers = some.filter(valid).flatMap((row) => [middle(row, value), low(row, value), high(row, value)])
    .concat(claims.flatMap((claim) => [claim.value, claim.low, claim.high])).filter(isNumber);
  const greatest = most(numbers) || 1;
  // Nine powers of ten below the largest is as good as nothing.
  const least = Math.max(Math.min(...numbers.filter((number) => number > 0), greatest) * 0.8, greatest * 1e-9);
  const room = some.some((row) => !valid(row) && middle(row, value) > greatest) ? 1.15 : 1.06;
  const top = greatest * (logarithmic ? room ** 4 : room);
  const share = (v) => logarithmic ? Math.log(Math.max(v, least) / least) / Math.log(top / least) : v / top;
  return {
    top, share: (v) => Math.max(0, Math.min(1, share(v))),
    ticks: ticks(least, top, unitOf(value.kind, greatest)[0], logarithmic),
    text: (tick) => short(show(value, tick, logarithmic ? tick : greatest)),
  };
}

// The place of each value of the parameter `x`, from 0 to 1: true to scale, by powers where they span several.
function placesOf(x) {
  const all = x.values;
  const positive = all.filter((value) => value > 0);
  const powers = !(all[0] < 0) && positive.length > 1 && positive.at(-1) / positive[0] >= 8;
  const step = powers ? Math.log(positive.at(-1) / positive[0]) / (positive.length - 1) : 0;
  const raw = (value) => !powers ? value : value > 0 ? Math.log(value / positive[0]) : -step;
  const [first, last] = [raw(all[0]), raw(all.at(-1))];
  return all.map((value) => ({value, at: 0.06 + 0.88 * (raw(value) - first) / (last - first)}));
}

// ---- The frame of a drawing

const halfOf = (label) => 3.6 * label.length;

// All labels, or every second one, or as many as have room: steps between them stay equal.
function evenly(labels) {
  for (let step = 1; ; step++) {
    const some = labels.filter((_, i) => i % step === 0);
    const apart = ({x, label}, i) => i === 0 || x - halfOf(label) >= some[i - 1].x + halfOf(some[i - 1].label) + 8;
    if (some.every(apart)) return some;
  }
}

// The inner rectangle of a drawing, and the elements that any of them has; `beside` is the room on its right.
function frame(width, height, label, beside = 14) {
  const left = 74, right = width - beside, top = 14, bottom = height - 44;
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
  const text = (content, x, y, anchor, name) =>
    drawing.append(svg('text', {class: name, x, y, 'text-anchor': anchor}, content));
  return {
    drawing, left, right, top, bottom, text,
    level: (y, label) => {
      drawing.append(svg('line', {class: 'axis', x1: left, x2: right, y1: y, y2: y}));
      text(label, left - 8, y + 4, 'end', 'level');
    },
    // Labels at their places as far as there is room for them.
    labels: (all) => {
      let free = -Infinity;
      for (const {x, label} of all.toSorted((a, b) => a.x - b.x)) {
        const half = halfOf(label);
        if (x - half < free) continue;
        free = x + half + 8;
        drawing.append(svg('line', {class: 'axis', x1: x, x2: x, y1: bottom, y2: bottom + 4}));
        text(label, x, bottom + 18, 'middle', 'below');
      }
    },
    title: (label) => text(label, (left + right) / 2, height - 6, 'middle', 'title'),
    line: (points, line, name) => drawing.append(svg('polyline', {
      class: name, style: `stroke:${colour(line.index)}`, points: points.map(({x, y}) => `${x},${y}`).join(' ')})),
  };
}
