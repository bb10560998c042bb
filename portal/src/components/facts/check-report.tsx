/** What was found when the pages of a deployment were asked for, before visitors got it. */
import { useResource } from '../../api/data.ts'
import type { Deployment } from '../../api/types.ts'
import { Fact, Facts, Panel } from '../layout/panel.tsx'
import { type Column, Table } from '../layout/table.tsx'
import css from './check-report.module.css'
import { answerInWords, COMPARED, OUTCOMES, pagesInWords, speedInWords, VERDICTS } from './check-words.ts'
import { StatePill } from './state-pill.tsx'

type Check = NonNullable<Deployment['check']>
type CheckedPage = Check['pages'][number]

/** Of the deployment of this name. Of one that was not checked only `isAsked` shows something. */
export function CheckReport({ name, isAsked = false }: { name: string; isAsked?: boolean }) {
  const { data } = useResource<Deployment>(name)
  const check = data?.check
  if (!check) return data && isAsked ? <Panel title="Check of its pages">Its pages were not checked.</Panel> : null
  const differing = check.pages.filter(({ verdict }) => verdict !== 'SAME')
  return (
    <Panel title="Check of its pages" actions={<StatePill shown={OUTCOMES[check.outcome]} />}>
      {check.skipped ? (
        <p>{check.skipped}</p>
      ) : (
        <Facts>
          <Fact name="Pages">{pagesInWords(check)}</Fact>
          {check.comparedWith && <Fact name="Compared">{COMPARED[check.comparedWith]}</Fact>}
          {check.before && <Fact name="Live version">{speedInWords(check.before)}</Fact>}
          {check.after && <Fact name="This version">{speedInWords(check.after)}</Fact>}
          {check.logErrors && (
            <Fact name="Errors in the log">
              {check.logErrors.count}, such as <code className={css.line}>{check.logErrors.lines[0]}</code>
            </Fact>
          )}
        </Facts>
      )}
      {differing.length > 0 && (
        <div className={css.pages}>
          <Table label="Pages that differ" columns={COLUMNS} items={differing} keyOf={({ path }) => path} />
        </div>
      )}
    </Panel>
  )
}

const COLUMNS: Column<CheckedPage>[] = [
  { head: 'Page', cell: ({ path }) => <code className={css.line}>{path}</code> },
  { head: 'Now', cell: ({ verdict }) => <StatePill shown={VERDICTS[verdict]} /> },
  { head: 'Live version', cell: ({ before }) => (before ? answerInWords(before) : '–') },
  { head: 'This version', cell: ({ after }) => answerInWords(after) },
  { head: 'What differs', grow: true, cell: ({ why }) => <span className={css.line}>{why}</span> },
]
