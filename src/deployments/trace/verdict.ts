/** Explains in a sentence why visitors see what they see. Pure. */
import { type AppResponse, compare, type Facts, type Live, type Stored, spanInWords } from './facts.ts'

export function verdictOf(facts: Facts): string {
  const sentences = [about(facts), aboutLastBuild(facts)].filter((part) => part !== '')
  return `${sentences.join('; ')}.`
}

function about(facts: Facts): string {
  const { live, inspection, origin, now } = facts
  if (!live || origin.kind === 'NOTHING') return 'Nothing is deployed to this environment yet'
  const since = `the deployment that went live ${spanInWords(now - live.time)} ago`
  switch (origin.kind) {
    case 'FILE':
      return origin.status === 200
        ? `Visitors get the file ${origin.file} of ${since}`
        : `There is no file for this address in ${since}, so visitors get its ${origin.file} with status ${origin.status}`
    case 'REDIRECT':
      return `Visitors are sent on to ${origin.location}, where the page is in ${since}`
    case 'MISSING':
      return `There is no file for this address in ${since}, so visitors get status ${origin.status}`
  }
  if (!inspection) return 'The edge does not answer at the moment, so what it has stored is not known'
  const usable = inspection.stored.filter(({ deployment }) => deployment === live.deployment)
  const stored = mostNotable(usable, facts)
  if (stored) return aboutStored(stored, facts)
  if (origin.kind === 'SILENT') return `Nothing is stored for this address, and the app ${origin.why}`
  return `Nothing is stored for this address: visitors are answered by the app itself${reasonNotStored(origin)}`
}

/** Of several variants the one that most likely needs an explanation. */
function mostNotable(stored: readonly Stored[], { origin }: Facts): Stored | undefined {
  const order = ['DIFFERENT', 'UNKNOWN', 'SAME']
  return stored.toSorted((a, b) => order.indexOf(compare(a, origin)) - order.indexOf(compare(b, origin)))[0]
}

function aboutStored(stored: Stored, { now, origin }: Facts): string {
  const copy = `a copy that the edge stored ${spanInWords(now - stored.storeTime)} ago`
  const left = spanInWords((stored.lifetimeSeconds - stored.ageSeconds) * 1000)
  switch (compare(stored, origin)) {
    case 'SAME':
      return stored.isFresh
        ? `Visitors get ${copy}, and the app answers the same now`
        : `The edge has ${copy} and that is stale by now; the app answers the same, and will be asked again`
    case 'DIFFERENT':
      return stored.isFresh
        ? `Visitors get ${copy}, while the app answers something else by now: the copy is used for another ${left} (${stored.lifetimeFrom}), unless it is purged`
        : `The edge has ${copy} and that is stale by now; the app answers something else, and one of the next visits replaces the copy`
    case 'UNKNOWN': {
      const why = origin.kind === 'SILENT' ? `the app ${origin.why}` : 'neither a digest nor an ETag shows it'
      const [verb, until] = stored.isFresh ? ['Visitors get', `for another ${left}`] : ['The edge has', 'stale by now']
      return `${verb} ${copy} (${until}, ${stored.lifetimeFrom}); whether the app answers the same now is not known, as ${why}`
    }
  }
}

/** As far as the response itself shows it. */
function reasonNotStored({ setsCookie, cacheControl, vary }: AppResponse): string {
  if (setsCookie) return ', since its answer sets a cookie'
  if (vary?.split(',').some((name) => name.trim() === '*')) return ', since it says vary: *'
  if (cacheControl === undefined) return ', since its answer does not say how long it may be kept'
  if (/\b(?:no-store|private|no-cache)\b|(?:s-maxage|max-age)=0\b/i.test(cacheControl))
    return `, since it says cache-control: ${cacheControl}`
  return ` until one of its answers is stored (cache-control: ${cacheControl})`
}

/** The last build, if it is not the live one. */
function aboutLastBuild({ now, live, lastBuild }: Facts): string {
  if (!lastBuild || !live || lastBuild.id === live.build.id) return ''
  const { state, phase, failure, isUnchanged, finishTime } = lastBuild
  const ago = `${spanInWords(now - (finishTime ?? now))} ago`
  switch (state) {
    case 'QUEUED':
      return 'a newer build waits'
    case 'RUNNING':
      return `a newer build is under way (${phase})`
    case 'FAILED':
      return `the last build failed ${ago} (${failure?.reason ?? 'INTERNAL'}), so what was live before stays`
    case 'CANCELLED':
      return `the last build was cancelled ${ago}`
    case 'SUCCEEDED':
      if (isUnchanged) return `the last build, ${ago}, left the same output, so nothing was switched`
      return isOlder(live, lastBuild.id) ? 'an older deployment was made live again after the last build' : ''
  }
}

/** Ids are ordered by time. */
const isOlder = (live: Live, buildId: string): boolean => live.build.id < buildId
