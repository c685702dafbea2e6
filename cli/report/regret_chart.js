// Regret: how close choices come to the best of what was measured, against baselines.

// What every report shows looks the same in each; the table's line is the one to look at.
const kOwnMethods = {
  table: {colour: '#2f6fb7', width: 3},
  single: {colour: '#f28e2b', width: 1.5},
  default: {colour: '#8a8178', width: 1.5},
};
// Of the baselines given, in the order of the page. Eight hues; then the same ones dashed.
const kBaselineHues = ['#59a14f', '#e15759', '#b07aa1', '#499894', '#b6992d', '#d37295', '#9c755f', '#8cd17d'];

// Methods with the looks of their lines, best first.
function styledMethods(part) {
  let given = 0;
  return part.judged.methods.map((method) => {
    if (kOwnMethods[method.kind]) return {...method, ...kOwnMethods[method.kind], dash: []};
    const index = given++;
    return {
      ...method,
      colour: kBaselineHues[index % kBaselineHues.length],
      width: 1.5,
      dash: index < kBaselineHues.length ? [] : [6, 3],
    };
  });
}

// Fractions of the best, worst first, over the share of problems.
function sortedCurve(problems, latencies) {
  const fractions = problems.map((problem, i) => latencies[i] > 0 ? problem.best_us / latencies[i] : 0)
                        .filter((fraction) => fraction > 0).sort((a, b) => a - b);
  return fractions.map((fraction, i) => ({x: 100 * (i + 0.5) / fractions.length, y: 100 * fraction}));
}

function drawRegret(parent, part) {
  const problems = part.judged.problems;
  const methods = styledMethods(part);
  const few = methods.length < 5;
  const datasets = methods.map((method) => ({
    label: method.name,
    data: sortedCurve(problems, method.us),
    showLine: true,
    pointRadius: problems.length > 150 || !few ? 0 : 2,
    pointStyle: 'line',
    borderColor: method.colour,
    backgroundColor: method.colour,
    borderWidth: method.width,
    borderDash: method.dash,
    order: method.kind === 'table' ? 0 : 1,  // On top.
  }));
  const lowest = Math.min(...datasets.flatMap((dataset) => dataset.data.map((point) => point.y)));
  return makeChart(parent, 'Fraction of the best measured latency over the share of problems', few ? 'low' : '', {
    type: 'scatter',
    data: {datasets},
    options: {
      scales: {
        x: axis('share of judged problems, worst first (%)', {min: 0, max: 100}),
        y: axis('best latency / latency (%)', {min: Math.max(0, Math.floor(lowest / 10) * 10), max: 100}),
      },
      plugins: {
        // Best first, whatever is drawn on top.
        legend: {...kPointLegend, labels: {...kPointLegend.labels, sort: (a, b) => a.datasetIndex - b.datasetIndex}},
        tooltip: {callbacks: {label: ({raw, dataset}) => `${dataset.label}: ${raw.y.toFixed(1)} % of the best`}},
      },
    },
  });
}

function figuresTable(part) {
  return tableOf(
      [['of the best', ''], ['geometric mean', 'number'], ['5th percentile', 'number'], ['worst', 'number'],
        ['problems', 'number']],
      styledMethods(part).map((method) => [
        [marked(method.colour, method.name), ''],
        [formatPercent(method.geomean), 'number'],
        [formatPercent(method.p5), 'number'],
        [formatPercent(method.worst), 'number'],
        [String(method.problems), 'number'],
      ]));
}

function addRegretChart(parent, part) {
  const {body} = section(parent, 'regret', 'Choices against the best there is',
      'At problems that were never fitted, and where most candidates were measured: best latency / latency, sorted. 100 % ' +
      'is the best of what was measured; the best single configuration is picked with hindsight. The best method comes first.');
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
