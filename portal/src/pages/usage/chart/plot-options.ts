/** The uPlot options of a figure: no animation, a scale from zero, the colours of the page. */
import uPlot from 'uplot'
import { drawnLines, type Figure, type Line, lonely } from '../figures.ts'
import type { Colours } from './colours.ts'
import { timeTick } from './ticks.ts'

type Given = {
  figure: Figure
  /** How many steps there are. */
  count: number
  stepSeconds: number
  colours: Colours
  font: string
  size: { width: number; height: number }
  /** The step under the pointer, or none. */
  onCursor(index: number | undefined): void
  /** The chart is drawn, and positions in it are known. */
  onDrawn(plot: uPlot): void
}

/** Wide enough for `1000 KB`, and the same for all charts, so that their time axes are aligned. */
const SIDE_PX = 60
const FOOT_PX = 26
/** The distance between times under the chart: `12 Nov` and a gap. */
const BETWEEN_TIMES_PX = 64
const DENSE = 100

export function plotOptions({
  figure,
  count,
  stepSeconds,
  colours,
  font,
  size,
  onCursor,
  onDrawn,
}: Given): uPlot.Options {
  // With very narrow bars, gaps would make the chart look like a comb.
  const isDense = count > DENSE
  const axis = { stroke: colours.text, font, ticks: { show: false }, gap: 6 }
  const topOf = (max: number | null) => figure.ticks(max ?? 0).at(-1) ?? 1
  return {
    ...size,
    padding: [12, 20, 0, 0],
    legend: { show: false },
    scales: {
      // The scale begins and ends with a complete step.
      x: { time: true, range: (_, min, max) => [min - stepSeconds / 2, max + stepSeconds / 2] },
      y: { range: (_, __, max) => [0, topOf(max)] },
    },
    axes: [
      {
        ...axis,
        size: FOOT_PX,
        space: BETWEEN_TIMES_PX,
        grid: { show: false },
        values: (_, times) => times.map(timeTick),
      },
      {
        ...axis,
        size: SIDE_PX,
        grid: { stroke: colours.line, width: 1 },
        splits: (_, __, ___, max) => figure.ticks(max),
        values: (_, values) => values.map((value) => figure.shortText(value)),
      },
    ],
    series: [{}, ...drawnLines(figure).map((line) => seriesOf(figure, line, colours, isDense))],
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 10, width: 2, stroke: () => colours.panel, fill: (_, index) => strokeOf(figure, index, colours) },
      // The cursor snaps to a step.
      move: (plot, left, top) => [left < 0 ? left : snapped(plot, left), top],
    },
    hooks: {
      setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)],
      draw: [onDrawn],
    },
  }
}

function seriesOf({ kind }: Figure, { tone, isDashed }: Line, colours: Colours, isDense: boolean): uPlot.Series {
  const stroke = colours[tone]
  if (kind !== 'lines') {
    const paths = uPlot.paths.bars?.({ size: isDense ? [1] : [0.72, 20, 1], align: 0 })
    return { stroke, fill: stroke, width: 0, points: { show: false }, ...(paths ? { paths } : {}) }
  }
  return {
    stroke,
    width: 1.75,
    ...(isDashed ? { dash: [5, 4] } : {}),
    // A step between two without visits has no line to either, so it is always drawn as a point.
    points: {
      size: 6,
      width: 0,
      fill: stroke,
      filter: (plot, index, isShown) => (isShown ? null : lonely(plot.data[index] as (number | null)[])),
    },
  }
}

const strokeOf = (figure: Figure, seriesIndex: number, colours: Colours): string =>
  colours[drawnLines(figure)[seriesIndex - 1]?.tone ?? 'accent']

function snapped(plot: uPlot, left: number): number {
  const time = plot.data[0]?.[plot.posToIdx(left)]
  return typeof time === 'number' ? plot.valToPos(time, 'x') : left
}
