// Tables: the worst problems and the portfolio.

const kWorstShown = 20;

function coded(text) {
  return element('code', {}, text);
}

function marked(colour, text) {
  const swatch = element('span', {class: 'swatch'});
  swatch.style.background = colour;
  return element('span', {}, swatch, text);
}

function swatched(index, text) {
  return marked(candidateColour(index), text);
}

// The parameters in which `values` differ from `from`.
function difference(values, from) {
  return values.map((value, i) => value === from[i] ? '' : `${report.parameters[i]}=${value}`)
      .filter((text) => text !== '').join(' ');
}

function namedCandidate(part, values) {
  const index = candidateIndex(part, values);
  if (index >= 0 && index < part.portfolio) return swatched(index, `#${index}`);
  return coded(shortConfiguration(part, values));
}

function addWorstTable(parent, part) {
  const problems = part.judged.problems;
  if (problems.length === 0) return;
  const {body} = section(parent, 'worst', 'Worst problems',
      `The ${Math.min(kWorstShown, problems.length)} of ${counted(problems.length, 'judged problem')} at which the choice ` +
      'is farthest from the best that was measured there, and what that one does otherwise.');
  body.append(tableOf(
      [['problem', ''], ['of the best', 'number'], ['chosen', ''], ['predicted', 'number'], ['measured', 'number'],
        ['best', 'number'], ['the best differs in', '']],
      problems.slice(0, kWorstShown).map((judged) => [
        [coded(part.problems[judged.problem]), 'name'],
        [formatPercent(judged.best_us / judged.chosen_us), 'number'],
        [namedCandidate(part, judged.chosen), 'name'],
        [judged.predicted_us > 0 ? `${formatUs(judged.predicted_us)} ± ${formatPercent(judged.bound, 0)}` : 'default',
          'number'],
        [formatUs(judged.chosen_us), 'number'],
        [formatUs(judged.best_us), 'number'],
        [coded(difference(judged.best, judged.chosen)), ''],
      ])));
}

// What all candidates of the portfolio have in common.
function commonText(part) {
  const different = new Set(telling(part));
  const common = report.parameters.map((name, i) => different.has(i) ? '' : `${name}=${part.candidates[0][i]}`)
      .filter((text) => text !== '');
  return common.length > 0 ? ` All of them: ${common.join(' ')}.` : '';
}

function addPortfolioTable(parent, part) {
  const shown = telling(part);
  const {body} = section(parent, 'portfolio', 'Portfolio',
      'The candidates that the table may choose. C is how many work tiles run at once.' + commonText(part));
  const headings = [['', ''], ...shown.map((i) => [report.parameters[i], 'number']), ['C', 'number'],
    ['registers', 'number'], ['shared memory', 'number']];
  if (part.representative > 0) headings.push([`chosen at (of ${part.representative})`, 'number']);
  const rows = part.facts.map((facts, index) => {
    const row = [
      [swatched(index, `#${index}${index === part.default ? ' (default)' : ''}`), 'name'],
      ...shown.map((i) => [String(part.candidates[index][i]), 'number']),
      [facts.capacity.toLocaleString('en'), 'number'],
      [facts.registers > 0 ? String(facts.registers) : '–', 'number'],
      [`${formatNumber(facts.shared_memory_bytes / 1024)} KiB`, 'number'],
    ];
    if (part.representative > 0) row.push([String(facts.uses), 'number']);
    return row;
  });
  body.append(tableOf(headings, rows));
}
