// The configuration map: which candidate the table chooses, over two dimensions.

// Bounds of a cell: half way to its neighbours, in logarithm.
function cellEdges(extents) {
  if (extents.length === 1) return [extents[0] / 2, extents[0] * 2];
  const edges = [extents[0] ** 1.5 / extents[1] ** 0.5];
  for (let i = 1; i < extents.length; ++i) edges.push(Math.sqrt(extents[i - 1] * extents[i]));
  const last = extents.length - 1;
  edges.push(extents[last] ** 1.5 / extents[last - 1] ** 0.5);
  return edges;
}

// Cells of the largest connected area of each candidate: that is where its number is written.
function largestAreas(map) {
  const width = map.x.extents.length;
  const seen = new Set();
  const best = new Map();
  map.candidates.forEach((candidate, start) => {
    if (seen.has(start)) return;
    const area = [];
    const open = [start];
    seen.add(start);
    while (open.length > 0) {
      const cell = open.pop();
      area.push(cell);
      const column = cell % width;
      const near = [cell - width, cell + width];
      if (column > 0) near.push(cell - 1);
      if (column < width - 1) near.push(cell + 1);
      for (const next of near) {
        if (seen.has(next) || map.candidates[next] !== candidate) continue;
        seen.add(next);
        open.push(next);
      }
    }
    if (area.length > (best.get(candidate)?.length ?? 0)) best.set(candidate, area);
  });
  return best;
}

// The cell of an area nearest to its middle.
function middleCell(area, width) {
  const mean = (of) => area.reduce((sum, cell) => sum + of(cell), 0) / area.length;
  const x = mean((cell) => cell % width);
  const y = mean((cell) => Math.floor(cell / width));
  const distance = (cell) => (cell % width - x) ** 2 + (Math.floor(cell / width) - y) ** 2;
  return area.reduce((best, cell) => distance(cell) < distance(best) ? cell : best);
}

function cellPainter(part, map) {
  const width = map.x.extents.length;
  const xEdges = cellEdges(map.x.extents);
  const yEdges = cellEdges(map.y.extents);
  const areas = largestAreas(map);
  const kLeastLabelled = 16;  // Cells; a number needs the room.
  return {
    id: 'cells',
    beforeDatasetsDraw(chart) {
      const {ctx, scales} = chart;
      const hidden = new Set(chart.data.datasets.filter((_, i) => !chart.isDatasetVisible(i)).map((d) => d.candidate));
      ctx.save();
      map.candidates.forEach((candidate, cell) => {
        if (hidden.has(candidate)) return;
        const [column, row] = [cell % width, Math.floor(cell / width)];
        const left = Math.round(scales.x.getPixelForValue(xEdges[column]));
        const right = Math.round(scales.x.getPixelForValue(xEdges[column + 1]));
        const bottom = Math.round(scales.y.getPixelForValue(yEdges[row]));
        const top = Math.round(scales.y.getPixelForValue(yEdges[row + 1]));
        ctx.fillStyle = candidateColour(candidate);
        ctx.globalAlpha = map.outside[cell] ? 0.55 : 1;
        ctx.fillRect(left, top, right - left, bottom - top);
      });
      ctx.globalAlpha = 1;
      ctx.font = `600 14px ${Chart.defaults.font.family}`;
      ctx.textAlign = 'center';
      ctx.textBaseline = 'middle';
      for (const [candidate, area] of areas) {
        if (hidden.has(candidate) || area.length < kLeastLabelled) continue;
        const cell = middleCell(area, width);
        const x = scales.x.getPixelForValue(map.x.extents[cell % width]);
        const y = scales.y.getPixelForValue(map.y.extents[Math.floor(cell / width)]);
        ctx.lineWidth = 3;
        ctx.strokeStyle = 'rgba(255, 255, 255, 0.85)';
        ctx.fillStyle = '#1c2126';
        ctx.strokeText(candidateName(part, candidate), x, y);
        ctx.fillText(candidateName(part, candidate), x, y);
      }
      ctx.restore();
    },
  };
}

function mapDatasets(part, map) {
  const width = map.x.extents.length;
  const byCandidate = new Map();
  map.candidates.forEach((candidate, cell) => {
    if (!byCandidate.has(candidate)) byCandidate.set(candidate, []);
    byCandidate.get(candidate).push(
        {x: map.x.extents[cell % width], y: map.y.extents[Math.floor(cell / width)], cell});
  });
  // Invisible points carry the legend and the tooltips of the painted cells.
  return [...byCandidate.entries()].sort((a, b) => b[1].length - a[1].length || a[0] - b[0]).map(([candidate, data]) => ({
    label: `${candidateName(part, candidate)} (${formatPercent(data.length / map.candidates.length, 0)})`,
    candidate,
    data,
    pointStyle: 'rect',
    pointRadius: 0,
    hoverRadius: 0,
    pointHitRadius: 9,
    borderColor: candidateColour(candidate),
    backgroundColor: candidateColour(candidate),
  }));
}

const kMostInLegend = 12;  // Colours repeat beyond twenty or so; pointing at a cell names its candidate.

function drawMap(parent, part, map) {
  const range = (edges) => ({ticks: powersOfTwo, min: edges[0], max: edges[edges.length - 1]});
  return makeChart(parent, `Chosen configuration over ${map.x.name} and ${map.y.name}`, 'high', {
    type: 'scatter',
    data: {datasets: mapDatasets(part, map)},
    plugins: [cellPainter(part, map)],
    options: {
      interaction: {mode: 'nearest', intersect: true},
      scales: {
        x: {...axis(map.x.name, range(cellEdges(map.x.extents))), grid: {display: false}},
        y: {...axis(map.y.name, range(cellEdges(map.y.extents))), grid: {display: false}, display: map.y.name !== ''},
      },
      plugins: {
        legend: {...kPointLegend, labels: {...kPointLegend.labels, filter: (item) => item.datasetIndex < kMostInLegend}},
        tooltip: {
          callbacks: {
            label: ({raw, dataset}) => [
              [`${map.x.name}=${raw.x}`, map.y.name ? `${map.y.name}=${raw.y}` : '', map.fixed].join(' '),
              dataset.candidate < 0 ? 'default' :
                `#${dataset.candidate} ${shortConfiguration(part, part.candidates[dataset.candidate])}`,
              `predicted ${formatUs(map.us[raw.cell])}${map.outside[raw.cell] ? ', beyond the measured range' : ''}`,
            ],
          },
        },
      },
    },
  });
}

function addMapChart(parent, part) {
  const {controls, body} = section(parent, 'map', 'Configuration map',
      'What the table chooses, each colour a candidate of its portfolio (numbers as in the table below), the most chosen ' +
      'in the legend. Faded cells lie beyond the measured range.');
  if (part.maps.length === 0) {
    body.append(element('p', {}, 'Nothing says which problems are typical: no samples, and no representative problems.'));
    return;
  }
  const draw = (index) => drawMap(body, part, part.maps[index]);
  const fixed = part.maps.map((map, i) => [i, map.fixed || 'all dimensions shown']);
  controls.append(selector('At', fixed, (index) => draw(Number(index))));
  if (part.maps.length === 1 && part.maps[0].fixed) controls.append(element('span', {}, `At ${part.maps[0].fixed}`));
  draw(0);
}
