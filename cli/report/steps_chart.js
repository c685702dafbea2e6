// Latency over G at a fixed L: the fitted steps of one row with what was measured.

const kPointLooks = [
  {label: 'fitted, anchor', pointStyle: 'circle', filled: true},
  {label: 'fitted, representative', pointStyle: 'rectRot', filled: true},
  {label: 'held out', pointStyle: 'circle', filled: false},
  {label: 'judged', pointStyle: 'triangle', filled: false},
];

function stepDatasets(part, curve) {
  const line = (shift) => curve.fit.map(([x, us, bound]) => ({x, y: us * (1 + shift * bound)}));
  const outside = (context) => curve.fit[context.p1DataIndex][3];
  const band = {showLine: true, pointRadius: 0, pointHitRadius: 0, borderWidth: 0, backgroundColor: pageColour('band')};
  const datasets = [
    {
      label: 'fitted steps (dashed: beyond the measured range)',
      data: line(0),
      showLine: true,
      pointRadius: 0,
      pointHitRadius: 0,
      pointStyle: 'line',
      borderColor: pageColour('fit'),
      borderWidth: 1.5,
      segment: {borderDash: (context) => outside(context) ? [4, 4] : undefined},
    },
    {...band, label: 'error bound', data: line(1), fill: '+1', pointStyle: 'rect'},
    {...band, label: 'lower bound', data: line(-1)},
  ];
  for (const member of curve.members) {
    kPointLooks.forEach((look, use) => {
      const data = curve.measured.filter((point) => point[2] === member && point[3] === use)
                       .map(([x, y, , , problem]) => ({x, y, problem, member}));
      if (data.length === 0) return;
      datasets.push({
        label: curve.members.length > 1 ? `#${member} ${look.label}` : look.label,
        data,
        pointStyle: look.pointStyle,
        pointRadius: 4,
        borderWidth: 1.5,
        borderColor: candidateColour(member),
        backgroundColor: look.filled ? candidateColour(member) : 'transparent',
      });
    });
  }
  return datasets;
}

// The part of a curve up to `waves`.
function firstWaves(curve, waves) {
  const inside = ([tiles]) => tiles <= waves * curve.capacity;
  return {...curve, fit: curve.fit.filter(inside), measured: curve.measured.filter(inside)};
}

// Steps can be told apart in the first waves; the rest spans decades.
function drawSteps(parent, part, whole, range) {
  const curve = range === 'all' ? whole : firstWaves(whole, Number(range));
  const scale = (values) => range === 'all' ? {ticks: decades, ...logRange(values)} : {min: 0};
  const points = [...curve.fit, ...curve.measured];
  return makeChart(parent, `Latency over G at L = ${curve.iterations}`, '', {
    type: 'scatter',
    data: {datasets: stepDatasets(part, curve)},
    plugins: [verticalLine(() => curve.capacity, 'one full wave')],
    options: {
      scales: {
        x: axis('G: work tiles', scale(points.map((point) => point[0]))),
        y: axis('latency (µs)', scale(points.map((point) => point[1]))),
      },
      plugins: {
        legend: {...kPointLegend,
          labels: {...kPointLegend.labels, filter: (item) => item.text !== 'lower bound'}},
        tooltip: {
          filter: (item) => item.raw.problem !== undefined,
          callbacks: {
            label: ({raw}) => [
              `#${raw.member}: ${part.problems[raw.problem]}`,
              `G = ${raw.x.toLocaleString('en')}, w = ${formatNumber(raw.x / curve.capacity)}, ${formatUs(raw.y)}`,
            ],
          },
        },
      },
    },
  });
}

const kRanges = [['4', 'the first 4'], ['8', 'the first 8'], ['16', 'the first 16'], ['all', 'all, logarithmic axes']];

const kFirstRange = '8';

// The curve with the most points to be seen at first: it shows most.
function fullestCurve(part) {
  const points = (curve) => firstWaves(curve, Number(kFirstRange)).measured.length;
  return part.steps.reduce((best, curve) => points(curve) > points(best) ? curve : best);
}

function addStepsChart(parent, part) {
  const {controls, body} = section(parent, 'steps', 'Latency over G at fixed L',
      (part.form === 'sum' ? 'The model is linear within a wave' : 'Computing and memory overlap: within a wave the slower decides') +
      ', and it steps up where a wave of work tiles begins. Points are measurements at ' +
      'this very L: filled ones were fitted, hollow ones were not. The band is the error bound of an answer.');
  if (part.steps.length === 0) {
    body.append(element('p', {}, 'The table has no rows.'));
    return;
  }
  const state = {row: 0, regime: 0, loop: 0, range: kFirstRange};
  const curves = () => part.steps.filter((curve) => curve.row === state.row);
  const regimes = () => [...new Set(curves().map((curve) => curve.regime))];
  const loops = () => curves().filter((curve) => curve.regime === state.regime);
  const most = (list) => list.reduce((best, curve, i) => curve.measured.length > list[best].measured.length ? i : best, 0);
  const show = (curve) => {
    state.row = curve.row;
    state.regime = curve.regime;
    state.loop = loops().indexOf(curve);
  };
  const pickRegime = () => show(curves()[most(curves())]);
  const draw = () => {
    const rows = [...new Set(part.steps.map((curve) => curve.row))].map((row) => {
      const members = part.steps.find((curve) => curve.row === row).members;
      const lead = members.length > 0 ? shortConfiguration(part, part.candidates[members[0]]) : '';
      return [row, `${members.map((member) => `#${member}`).join(', ')}  ${lead}`];
    });
    const choose = (label, options, value, set) => {
      const made = selector(label, options, (chosen) => { set(chosen); draw(); });
      made.querySelector('select').value = String(value);
      return made;
    };
    // Whoever walks through the choices by keyboard stays where they are.
    const focused = [...controls.children].findIndex((child) => child.contains(document.activeElement));
    controls.replaceChildren(
        choose('Row', rows, state.row, (row) => { state.row = Number(row); pickRegime(); }),
        choose('Rows of tiles', regimes().map((regime) => [regime, part.row_regimes[regime]]), state.regime,
            (regime) => { state.regime = Number(regime); state.loop = most(loops()); }),
        choose('L', loops().map((curve, i) => [i, `${formatNumber(curve.iterations, 5)} iterations`]), state.loop,
            (loop) => { state.loop = Number(loop); }),
        choose('Waves', kRanges, state.range, (range) => { state.range = range; }));
    controls.children[focused]?.querySelector('select').focus();
    drawSteps(body, part, loops()[state.loop], state.range);
  };
  show(fullestCurve(part));
  draw();
}
