/** A phase that took too long: what it was doing, as far as its log shows. */
import { provingIndex } from './lines.ts'
import { registryUnreachable, serviceUnreachable } from './network.ts'
import { type Evidence, type Finding, search } from './rule.ts'

/** Tools that serve or watch do not end. */
const NEVER_ENDS = [
  /\b[Ww]atching for (?:file )?changes/,
  /\bLocal: {1,12}https?:\/\//,
  /\bListening (?:on|at) (?:port|https?:)/i,
  /\bserver (?:is )?(?:running|started|listening) (?:on|at)\b/i,
]

export function timedOut(evidence: Evidence, seconds: number): Finding {
  const { phase, lines } = evidence
  if (phase === 'STARTING') {
    const at = provingIndex(lines)
    const message = `The app did not answer within ${seconds} s. Check what it does before it answers its first request.`
    return { reason: 'START_TIMEOUT', message, at, lastAt: at }
  }
  const what = phase === 'INSTALLING' ? 'Installing the dependencies' : 'The build script'
  const { at, because } = causeOf(evidence)
  return { reason: 'BUILD_TIMEOUT', message: `${what} took longer than ${seconds} s. ${because}`, at, lastAt: at }
}

function causeOf(evidence: Evidence): { at: number; because: string } {
  const { phase, lines } = evidence
  const last = lines.findLastIndex(({ text }) => text.trim() !== '')
  const endless = phase === 'BUILDING' ? search(lines, ...NEVER_ENDS).at(-1) : undefined
  if (endless) {
    return {
      at: endless.index,
      because: 'The log looks like that of a server or a watcher: a build script must end by itself.',
    }
  }
  const unreached = (phase === 'INSTALLING' ? registryUnreachable : serviceUnreachable).find(evidence)
  if (unreached) return { at: unreached.at, because: unreached.message }
  const because =
    last < 0
      ? 'It wrote nothing: find out what it waits for; the operator can raise the deadline.'
      : 'The last line of its log shows how far it came; the operator can raise the deadline.'
  return { at: last, because }
}
