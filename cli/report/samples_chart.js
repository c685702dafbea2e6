// Samples on the wave structure: w against L, coloured by what they are for, by regime, or by residual.

// Upper ends of the residual classes, and their colours: blue where the model is too slow, red where it is too fast.
const kResiduals = [
  [-0.2, '#2166ac', 'faster than predicted by over 20 %'],
  [-0.08, '#67a9cf', '8 to 20 % faster'],
  [-0.03, '#a9cfe4', '3 to 8 % faster'],
  [0.03, '#9aa0a6', 'within 3 %'],
  [0.08, '#f4b183', '3 to 8 % slower'],
  [0.2, '#e0664f', '8 to 20 % slower'],
  [Infinity, '#a50f15', 'slower than predicted by over 20 %'],
];

// [classes as {label, colour}, sample index -> class or -1].
function classifier(part, by) {
  const samples = part.samples;
  if (by === 'residual') {
    const classes = kResiduals.map(([, colour, label]) => ({label, colour}));
    return [classes, (i) => samples.residual[i] === null ? -1 :
      kResiduals.findIndex(([end]) => samples.residual[i] <= end)];
  }
  if (by === 'use') {
    return [report.uses_of_samples.map((label, i) => ({label, colour: kHues[i]})), (i) => samples.use[i]];
  }
  const classes = part.row_regimes.flatMap((regime, i) => [
    {label: `${regime}, up to one wave`, colour: kHues[2 * i % kHues.length]},
    {label: `${regime}, more waves`, colour: kHues[(2 * i + 1) % kHues.length]},
  ]);
  return [classes, (i) => 2 * samples.regime[i] + (samples.waves[i] > 1 ? 1 : 0)];
}

function sampleDatasets(part, state) {
  const samples = part.samples;
  const [classes, classOf] = classifier(part, state.by);
  const points = classes.map(() => []);
  for (let i = 0; i < samples.us.length; ++i) {
    if (state.candidate >= 0 && samples.candidate[i] !== state.candidate) continue;
    if (!state.others && samples.use[i] >= 2) continue;
    const kind = classOf(i);
    if (kind >= 0) points[kind].push({x: samples.waves[i], y: samples.iterations[i], sample: i});
  }
  return classes.map(({label, colour}, kind) => ({
    label: `${label} (${points[kind].length.toLocaleString('en')})`,
    data: points[kind],
    pointRadius: 3,
    borderWidth: 0,
    backgroundColor: `${colour}b0`,
    // What is far off lies on top.
    order: state.by === 'residual' ? -Math.abs(kind - 3) : kind,
  })).filter((dataset) => dataset.data.length > 0);
}

function drawSamples(parent, part, state) {
  const samples = part.samples;
  return makeChart(parent, 'Samples over waves and loop iterations', '', {
    type: 'scatter',
    data: {datasets: sampleDatasets(part, state)},
    plugins: [verticalLine(() => 1, 'one full wave')],
    options: {
      scales: {
        x: axis('w = G / C: waves of work tiles', {ticks: decades, ...logRange(samples.waves)}),
        y: axis('L: loop iterations per tile', {ticks: powersOfTwo, ...logRange(samples.iterations, 1.3)}),
      },
      plugins: {
        legend: {...kPointLegend,
          labels: {...kPointLegend.labels, sort: (a, b) => a.datasetIndex - b.datasetIndex}},
        tooltip: {
          callbacks: {
            label: ({raw: {sample}}) => {
              const residual = samples.residual[sample];
              return [
                candidateName(part, samples.candidate[sample]),
                part.problems[samples.problem[sample]],
                `w = ${formatNumber(samples.waves[sample])}, L = ${formatNumber(samples.iterations[sample])}, ` +
                    formatUs(samples.us[sample]) +
                    (residual === null ? '' : `, ${formatPercent(residual)} against the prediction`),
              ];
            },
          },
        },
      },
    },
  });
}

function addSamplesChart(parent, part) {
  const {controls, body} = section(parent, 'samples', 'Samples on the wave structure',
      'Where measurements lie: waves of work tiles against loop iterations. Residuals are shown where the table predicts ' +
      'that very configuration; what was not fitted is shown for candidates of the portfolio.');
  const samples = part.samples;
  if (samples.us.length === 0) {
    body.append(element('p', {}, 'There are no samples.'));
    return;
  }
  const state = {by: 'residual', candidate: -1, others: true};
  const draw = () => drawSamples(body, part, state);
  const candidates = [[-1, 'all']];
  for (let i = 0; i < part.portfolio; ++i) {
    candidates.push([i, `#${i}  ${shortConfiguration(part, part.candidates[i])}`]);
  }
  const colours = [['residual', 'residual'], ['use', 'what it was measured for'], ['regime', 'row and wave regime']];
  controls.append(
      selector('Colour', colours, (by) => { state.by = by; draw(); }),
      selector('Candidate', candidates, (candidate) => { state.candidate = Number(candidate); draw(); }));
  if (samples.use.some((use) => use >= 2)) {
    controls.append(checkbox('also what was not fitted', true, (on) => { state.others = on; draw(); }));
  }
  draw();
}
