/** How to do the same from a terminal: the `headland` command first, then the API call. */
import { type CurlCall, curlOf } from '../../api/curl.ts'
import { CopyButton } from './copy.tsx'
import css from './curl.module.css'

type Props = CurlCall & {
  /** Open from the start. */
  open?: boolean
  /** The command; not every call has one. */
  command?: string | undefined
  /** Says above the command that it is one for the operator, to be run on the machine of the service. */
  isOfOperator?: boolean
}

export function Curl({ open = false, command, isOfOperator = false, ...given }: Props) {
  return (
    <details className={css.curl} open={open}>
      <summary className={css.summary}>The same from a terminal</summary>
      {command && isOfOperator && <p className={css.note}>On the machine of the service:</p>}
      {command && <Line text={command} what="the command" />}
      {command && <p className={css.note}>Or by the API:</p>}
      <Line text={curlOf(given, location.origin)} what="the curl call" />
    </details>
  )
}

function Line({ text, what }: { text: string; what: string }) {
  return (
    <div className={css.body}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
      <pre className={css.text} tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
