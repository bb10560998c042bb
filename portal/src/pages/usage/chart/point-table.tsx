/** The numbers of a chart as a table, folded by default. The newest come first. */
import { useState } from 'react'
import type { Traffic } from '../../../api/types.ts'
import { type Figure, valueText, wholeOf } from '../figures.ts'
import css from './point-table.module.css'
import { stepBegin } from './ticks.ts'

export function PointTable({ figure, traffic }: { figure: Figure; traffic: Traffic }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className={css.summary}>
        Show as table<span className="sr-only">: {figure.title}</span>
      </summary>
      {isOpen && <Rows figure={figure} traffic={traffic} />}
    </details>
  )
}

function Rows({ figure, traffic: { points, stepSeconds } }: { figure: Figure; traffic: Traffic }) {
  const { title, kind, lines } = figure
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
    <section className={css.scroll} tabIndex={0} aria-label={`${title}, step by step`}>
      <table className={css.table}>
        <caption className="sr-only">{title}, step by step</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {kind === 'stack' && <th scope="col">{title}</th>}
            {lines.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map((point) => (
            <tr key={point.time}>
              <th scope="row">
                <time dateTime={point.time}>{stepBegin(point.time, stepSeconds)}</time>
              </th>
              {kind === 'stack' && <td>{figure.text(wholeOf(figure, point))}</td>}
              {lines.map(({ label, of }) => (
                <td key={label}>{valueText(figure, of(point))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
