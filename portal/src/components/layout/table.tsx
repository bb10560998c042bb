/** A table on wide screens, a card for each row on narrow ones. The first column is the heading of its row. */
import type { ReactNode } from 'react'
import css from './table.module.css'

export type Column<T> = {
  head: string
  cell(item: T): ReactNode
  /** Numbers are aligned to the right. */
  align?: 'right'
  /** The column that takes the remaining width. */
  grow?: boolean
  /** The heading is for screen readers only, and omitted on cards: for columns of buttons. */
  quiet?: boolean
}

type Props<T> = { label: string; columns: readonly Column<T>[]; items: readonly T[]; keyOf(item: T): string }

export function Table<T>({ label, columns, items, keyOf }: Props<T>) {
  return (
    // The roles are explicit, as browsers drop them when CSS lays the rows out as cards.
    // biome-ignore-start lint/a11y/noRedundantRoles: see above
    // biome-ignore-start lint/a11y/useSemanticElements: see above
    <table className={css.table} role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, align, grow, quiet }) => (
            <th key={head} role="columnheader" scope="col" data-align={align} data-grow={grow}>
              <span className={quiet ? 'sr-only' : undefined}>{head}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {items.map((item) => (
          <tr key={keyOf(item)} role="row">
            {columns.map(({ head, cell, align, grow, quiet }, index) => (
              <td
                key={head}
                role={index === 0 ? 'rowheader' : 'cell'}
                data-align={align}
                data-grow={grow}
                data-label={quiet ? '' : head}
              >
                {cell(item)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    // biome-ignore-end lint/a11y/useSemanticElements: see above
    // biome-ignore-end lint/a11y/noRedundantRoles: see above
  )
}
