/** What a build waits for, in words. */
import type { Operation } from '../../client/index.ts'
import { countInWords } from './figures.ts'
import { oneLine } from './rows.ts'

/** Beside the word "waiting". */
export function waitingInWords({ queuePosition, settlesUntil, waiting }: Operation['metadata']): string {
  if (settlesUntil !== undefined) return `until ${oneLine(settlesUntil)}, should further webhooks be called`
  if (waiting?.reason === 'ENVIRONMENT') return 'for another operation of this environment'
  if (waiting?.reason === 'QUIET_PERIOD') return 'for further calls'
  const ahead = waiting?.reason === 'MACHINE' ? waiting.ahead : (queuePosition ?? 1) - 1
  return ahead > 0 ? `${countInWords(ahead, 'build')} ahead` : ''
}
