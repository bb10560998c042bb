/** Below a list of which only the beginning is shown. */
import css from './rest.module.css'
import { restWords } from './words.ts'

export function Rest({ shown, all }: { shown: number; all: number }) {
  const words = restWords(shown, all)
  return words === '' ? null : <p className={css.rest}>{words}</p>
}
