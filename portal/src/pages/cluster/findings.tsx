/** What is wrong with the installation, and what to do about it. */
import type { Cluster } from '../../api/types.ts'
import { Pill } from '../../components/facts/pill.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { WithCode } from '../../components/layout/with-code.tsx'
import css from './findings.module.css'
import { Rest } from './rest.tsx'

export function Findings({ cluster: { findings, counts } }: { cluster: Cluster }) {
  if (findings.length === 0) return null
  return (
    <Panel title="What is wrong" flush>
      <ul className={css.findings}>
        {findings.map(({ part, state, found, advice }) => (
          <li key={`${part} ${found}`} className={css.finding}>
            <span className={css.state}>
              {state === 'broken' ? <Pill tone="bad">Broken</Pill> : <Pill tone="warn">Weaker</Pill>}
            </span>
            <span className={css.part}>{part}</span>
            <span className={css.words}>
              <span>{sentence(found)}</span>
              <span className={css.advice}>
                <WithCode text={advice} />
              </span>
            </span>
          </li>
        ))}
      </ul>
      <Rest shown={findings.length} all={counts.findings} />
    </Panel>
  )
}

const sentence = (found: string): string =>
  `${found.slice(0, 1).toUpperCase()}${found.slice(1)}${/[.?!]$/.test(found) ? '' : '.'}`
