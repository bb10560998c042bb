/** The call that does the same from a terminal. */
import { type CurlCall, curlOf } from '../api/curl.ts'
import { CopyButton } from './copy.tsx'
import css from './curl.module.css'

type Props = CurlCall & { /** Open from the start. */ open?: boolean }

export function Curl({ open = false, ...given }: Props) {
  const line = curlOf(given, location.origin)
  return (
    <details className={css.curl} open={open}>
      <summary className={css.summary}>The same from a terminal</summary>
      <div className={css.body}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
        <pre className={css.text} tabIndex={0}>
          {line}
        </pre>
        <CopyButton text={line} what="the curl call" />
      </div>
    </details>
  )
}
