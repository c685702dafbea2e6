'use strict';

// The data and small helpers. Names from the report only ever become text nodes, never markup.

const report = JSON.parse(document.getElementById('data').textContent);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function formatNumber(value, digits = 3) {
  return Number(value).toLocaleString('en', {maximumSignificantDigits: digits});
}

function formatUs(us) {
  if (!(us > 0)) return '–';
  if (us < 1e3) return `${formatNumber(us)} µs`;
  return us < 1e6 ? `${formatNumber(us / 1e3)} ms` : `${formatNumber(us / 1e6)} s`;
}

function formatPercent(fraction, digits = 1) {
  return `${(100 * fraction).toFixed(digits)} %`;
}

// '3 candidates', '1 candidate'.
function counted(count, noun) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

function fullConfiguration(values) {
  return values.map((value, i) => `${report.parameters[i]}=${value}`).join(' ');
}

// The parameters in which the portfolio's candidates differ tell them apart.
function telling(part) {
  const portfolio = part.candidates.slice(0, part.portfolio);
  return report.parameters.map((_, i) => i).filter(
      (i) => portfolio.length < 2 || portfolio.some((values) => values[i] !== portfolio[0][i]));
}

function shortConfiguration(part, values) {
  return telling(part).map((i) => `${report.parameters[i]}=${values[i]}`).join(' ');
}

// Index of a configuration among the part's candidates, -1 where it is none.
function candidateIndex(part, values) {
  return part.candidates.findIndex((other) => other.every((value, i) => value === values[i]));
}

// '#3' for a member of the portfolio: as the table in the page numbers them.
function candidateName(part, index) {
  if (index < 0) return 'default';
  if (index < part.portfolio) return `#${index}`;
  return fullConfiguration(part.candidates[index]);
}

// A labelled select over [value, text] pairs; `onChange` gets the value. Hidden where there is no choice.
function selector(label, options, onChange) {
  const select = element('select');
  for (const [value, text] of options) {
    select.append(element('option', {value: String(value)}, text));
  }
  select.addEventListener('change', () => onChange(select.value));
  const made = element('label', {}, label, select);
  if (options.length < 2) made.hidden = true;
  return made;
}

function checkbox(label, checked, onChange) {
  const box = element('input', {type: 'checkbox'});
  box.checked = checked;
  box.addEventListener('change', () => onChange(box.checked));
  return element('label', {}, box, label);
}

// A section with a heading, a sentence that says how to read it, and a place for controls.
function section(parent, id, title, sentence) {
  const controls = element('div', {class: 'controls'});
  const body = element('div');
  parent.append(element('section', {id}, element('h2', {}, title), element('p', {}, sentence), controls, body));
  return {controls, body};
}

// Cells are [content, class] pairs; numbers are of class 'number'.
function tableOf(headings, rows) {
  const cell = (tag, [content, kind]) => {
    const made = element(tag, kind ? {class: kind} : {});
    made.append(content);
    return made;
  };
  const head = element('tr', {}, ...headings.map((h) => cell('th', h)));
  const body = rows.map((row) => element('tr', {}, ...row.map((c) => cell('td', c))));
  return element('div', {class: 'wide'},
      element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)));
}
