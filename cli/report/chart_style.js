// How charts look: colours of the page's scheme, axes, legends.

// Sixteen hues that stay apart on light and on dark; a seventeenth candidate starts again.
const kHues = [
  '#4e79a7', '#f28e2b', '#59a14f', '#e15759', '#b07aa1', '#76b7b2', '#edc948', '#9c755f',
  '#ff9da7', '#2c5aa0', '#8cd17d', '#d37295', '#499894', '#b6992d', '#a0cbe8', '#8a8178',
];

function candidateColour(index) {
  return index < 0 ? '#9aa0a6' : kHues[index % kHues.length];
}

function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function applyPageColours() {
  Chart.defaults.color = pageColour('text');
  Chart.defaults.borderColor = pageColour('line');
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  Chart.defaults.animation = false;
}

function powersOfTwo(min, max) {
  const ticks = [];
  for (let exponent = Math.floor(Math.log2(min)); exponent <= Math.ceil(Math.log2(max)); ++exponent) {
    const value = 2 ** exponent;
    if (value >= min && value <= max) ticks.push({value});
  }
  return ticks.length > 12 ? ticks.filter((_, i) => i % 2 === 0) : ticks;
}

function decades(min, max) {
  const ticks = [];
  const wide = max / min > 300;
  for (let exponent = Math.floor(Math.log10(min)); exponent <= Math.ceil(Math.log10(max)); ++exponent) {
    for (const step of wide ? [1] : [1, 2, 5]) {
      const value = step * 10 ** exponent;
      if (value >= min && value <= max) ticks.push({value});
    }
  }
  return ticks;
}

// An axis. `ticks`: powersOfTwo or decades make it logarithmic, null linear.
function axis(title, {ticks = null, min, max, format = (value) => formatNumber(value, 6)} = {}) {
  return {
    type: ticks ? 'logarithmic' : 'linear',
    min,
    max,
    title: {display: true, text: title},
    grid: {color: pageColour('line')},
    afterBuildTicks: (scale) => { if (ticks) scale.ticks = ticks(scale.min, scale.max); },
    ticks: {callback: (value) => format(value), maxRotation: 0, autoSkip: !ticks},
  };
}

// Range of positive values with some room around them on a logarithmic axis.
function logRange(values, room = 1.15) {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return {};
  const low = positive.reduce((a, b) => Math.min(a, b));
  const high = positive.reduce((a, b) => Math.max(a, b));
  return {min: low / room, max: high * room};
}

// Draws a labelled vertical line at `value` of the x axis.
function verticalLine(value, text) {
  return {
    id: `line-${text}`,
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea, scales} = chart;
      const x = scales.x.getPixelForValue(value());
      if (!(x > chartArea.left && x < chartArea.right)) return;
      ctx.save();
      ctx.strokeStyle = pageColour('muted');
      ctx.setLineDash([2, 4]);
      ctx.beginPath();
      ctx.moveTo(x, chartArea.top);
      ctx.lineTo(x, chartArea.bottom);
      ctx.stroke();
      ctx.restore();
    },
    // Over the points, on a ground of its own.
    afterDatasetsDraw(chart) {
      const {ctx, chartArea, scales} = chart;
      const x = scales.x.getPixelForValue(value());
      if (!(x > chartArea.left && x < chartArea.right)) return;
      ctx.save();
      ctx.font = `12px ${Chart.defaults.font.family}`;
      ctx.fillStyle = pageColour('page');
      ctx.globalAlpha = 0.85;
      ctx.fillRect(x + 2, chartArea.top + 1, ctx.measureText(text).width + 6, 16);
      ctx.globalAlpha = 1;
      ctx.fillStyle = pageColour('muted');
      ctx.fillText(text, x + 5, chartArea.top + 13);
      ctx.restore();
    },
  };
}

// Makes a chart in `parent`. `label` is what somebody hears who cannot see it.
function makeChart(parent, label, height, config) {
  for (const old of parent.querySelectorAll('canvas')) Chart.getChart(old)?.destroy();
  const canvas = element('canvas', {role: 'img', 'aria-label': label});
  parent.replaceChildren(element('div', {class: `chart ${height}`}, canvas));
  return new Chart(canvas, {
    ...config,
    options: {
      responsive: true,
      maintainAspectRatio: false,
      normalized: true,
      ...config.options,
    },
  });
}

// Legends show what a point looks like.
const kPointLegend = {position: 'bottom', align: 'start', labels: {usePointStyle: true, boxWidth: 8, boxHeight: 8}};
