// Puts the page together.

function addHead() {
  const head = document.getElementById('head');
  const facts = element('dl', {class: 'facts'});
  const fact = (name, value) => {
    if (value) facts.append(element('dt', {}, name), element('dd', {}, value));
  };
  fact('device', report.device);
  fact('table', coded(report.digest));
  fact('kernel version', coded(report.fingerprint));
  fact('silicon', report.silicon);
  fact('environment', report.environment);
  fact('samples from', report.source);
  fact('written', report.created);
  head.append(element('h1', {}, report.kernel), facts);
  if (report.notes.length > 0) {
    head.append(element('ul', {class: 'notes'}, ...report.notes.map((note) => element('li', {}, note))));
  }
}

function addFigures(parent, part) {
  const figures = element('div', {class: 'figures'});
  const figure = (value, text) => figures.append(
      element('div', {class: 'figure'}, element('b', {}, value), element('span', {}, text)));
  const chosen = part.judged.methods.find((one) => one.kind === 'table');
  if (chosen) {
    figure(formatPercent(chosen.geomean), `of the best, geometric mean over ${counted(chosen.problems, 'problem')}`);
    figure(formatPercent(chosen.p5), '5th percentile');
    figure(formatPercent(chosen.worst), 'worst problem');
  }
  const fitted = part.samples.use.filter((use) => use < 2).length;
  if (fitted > 0) {
    figure(formatNumber(fitted / part.candidates.length),
        `samples per candidate (${fitted.toLocaleString('en')} of ${counted(part.candidates.length, 'candidate')})`);
  }
  figure(String(part.portfolio), `candidates in the table, ${formatNumber(report.table_bytes / 1024)} KiB`);
  parent.append(figures);
}

function drawPart(parent, part) {
  for (const chart of Object.values(Chart.instances)) chart.destroy();
  applyPageColours();
  parent.replaceChildren();
  addFigures(parent, part);
  addRegretChart(parent, part);
  addMapChart(parent, part);
  addStepsChart(parent, part);
  addSamplesChart(parent, part);
  addPortfolioTable(parent, part);
  addWorstTable(parent, part);
}

function drawPage() {
  const main = document.getElementById('main');
  const body = element('div', {class: 'part'});
  let shown = 0;
  const show = (index) => {
    shown = Number(index);
    drawPart(body, report.specialisations[shown]);
  };
  const names = report.specialisations.map((part, i) => [i, part.name]);
  main.append(element('div', {class: 'controls'}, selector('Specialisation', names, show)), body);
  show(0);
  // Colours are read when a chart is made.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => show(shown));
}

addHead();
drawPage();
