// Regret: how close choices come to the best of what was measured, against baselines.

const kBaselines = [
  {name: 'chosen', text: 'chosen by the table', field: 'chosen_us', colour: '#2f6fb7', width: 2.5},
  {name: 'best single', text: 'best single configuration', field: 'single_us', colour: '#f28e2b', width: 1.5},
  {name: 'default', text: 'default configuration', field: 'default_us', colour: '#8a8178', width: 1.5},
];

// Fractions of the best, worst first, over the share of problems.
function sortedCurve(problems, field) {
  const fractions = problems.filter((problem) => problem[field] > 0)
                        .map((problem) => problem.best_us / problem[field]).sort((a, b) => a - b);
  return fractions.map((fraction, i) => ({x: 100 * (i + 0.5) / fractions.length, y: 100 * fraction}));
}

function drawRegret(parent, part) {
  const problems = part.judged.problems;
  const datasets = kBaselines.map((baseline) => ({
    label: baseline.text,
    data: sortedCurve(problems, baseline.field),
    showLine: true,
    pointRadius: problems.length > 150 ? 0 : 2,
    pointStyle: 'line',
    borderColor: baseline.colour,
    backgroundColor: baseline.colour,
    borderWidth: baseline.width,
  })).filter((dataset) => dataset.data.length > 0);
  const lowest = Math.min(...datasets.flatMap((dataset) => dataset.data.map((point) => point.y)));
  return makeChart(parent, 'Fraction of the best measured latency over the share of problems', 'low', {
    type: 'scatter',
    data: {datasets},
    options: {
      scales: {
        x: axis('share of judged problems, worst first (%)', {min: 0, max: 100}),
        y: axis('best latency / latency (%)', {min: Math.max(0, Math.floor(lowest / 10) * 10), max: 100}),
      },
      plugins: {
        legend: kPointLegend,
        tooltip: {callbacks: {label: ({raw, dataset}) => `${dataset.label}: ${raw.y.toFixed(1)} % of the best`}},
      },
    },
  });
}

function figuresTable(part) {
  return tableOf(
      [['of the best', ''], ['geometric mean', 'number'], ['5th percentile', 'number'], ['worst', 'number'],
        ['problems', 'number']],
      part.judged.figures.map((figures) => [
        [kBaselines.find((baseline) => baseline.name === figures.name).text, ''],
        [formatPercent(figures.geomean), 'number'],
        [formatPercent(figures.p5), 'number'],
        [formatPercent(figures.worst), 'number'],
        [String(figures.problems), 'number'],
      ]));
}

function addRegretChart(parent, part) {
  const {body} = section(parent, 'regret', 'Regret against baselines',
      'At problems that were never fitted, and where most candidates were measured: best latency / latency, sorted. 100 % ' +
      'is the best of what was measured; the best single configuration is picked with hindsight.');
  if (part.judged.problems.length === 0) {
    body.append(element('p', {}, 'No problem was measured with enough candidates to judge by: run `wavetune bench ' +
        `${report.kernel} --shapes FILE --exhaustive\`, then report again.`));
    return;
  }
  const chart = element('div');
  body.append(chart, figuresTable(part));
  if (part.judged.best_single) {
    body.append(element('p', {}, 'Best single configuration: ',
        element('code', {}, fullConfiguration(part.judged.best_single))));
  }
  drawRegret(chart, part);
}
