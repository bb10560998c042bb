/** The headers of one rule. One that cannot be set is left out, and the others apply. */
import { checkHeaderName, checkHeaderValue } from '../headers.ts'
import { RULE_LIMITS } from '../limits.ts'
import { RuleRefused, type Template } from '../rules.ts'
import { readTemplate } from '../template.ts'

type Reading = Parameters<typeof readTemplate>[1] & {
  /** Called with the error for each header that is left out. */
  refuse(error: unknown): void
}

/** Each entry returns its name and value, or throws. */
export function readHeaderList(
  entries: readonly (() => [name: string, value: string])[],
  { refuse, ...reading }: Reading,
): [string, Template][] {
  if (entries.length > RULE_LIMITS.headersPerRule)
    throw new RuleRefused(`it has more than ${RULE_LIMITS.headersPerRule} headers.`)
  const set: [string, Template][] = []
  for (const entry of entries) {
    try {
      const [written, value] = entry()
      const name = checkHeaderName(written.trim())
      set.push([name, readTemplate(checkHeaderValue(name, value), reading)])
    } catch (error) {
      refuse(error)
    }
  }
  return set
}
