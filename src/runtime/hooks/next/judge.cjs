'use strict'
// Decides for each entry that is read from Next.js's cache whether a visit gets it, and for each one that is written whether it
// may be stored.
const { describe, mend, pathOf, tagsOf } = require('./descriptions.cjs')
const { mayHaveExpired, pathnameOf, withhold } = require('./fallback.cjs')
const { encodeTag, labelOf, markOutdated, note } = require('./visits.cjs')

/** Older than every revalidation time, so that Next.js serves the page and regenerates it; younger than its expiry of a year. */
const LONG_AGO_MS = 300 * 24 * 3_600_000
const MAX_LATE = 10_000

function createJudge(expiries) {
  /** When entries were stored while a purge of them became known. Their files may be dated after the purge. */
  const late = new Map()

  /** The entry as it is passed on to Next.js. */
  function judged(visit, key, context, entry) {
    const { isFetch } = context
    const seen = (shown, isExpired = false) => {
      if (visit) noteFound(visit, key, context, { entry: shown, isExpired })
      return shown
    }
    if (!entry) return seen(entry)
    const verdict =
      late.get(key) >= entry.lastModified
        ? 'expired'
        : expiries.judge(entry.lastModified, () => tagsFor(visit, key, context, entry.value))
    if (verdict === 'fresh') return seen(entry)
    // An on-demand revalidation makes it anew in any case. Without an entry, Next.js would take some pages for unknown.
    if (visit?.isOnDemand && !isFetch) {
      noteExpired(visit, key)
      return seen(entry)
    }
    // Only pages may be served while they are made anew. Data is fetched again at once: a page that is rendered for each
    // visitor may have shown newer data already.
    if (verdict === 'built' && !isFetch) {
      if (visit?.expiredMode) return seen(entry)
      // Some versions of Next.js wait for the new page.
      withhold(visit, key, pathOf(key))
      return { ...seen(entry), lastModified: longAgo(entry) }
    }
    if (mayHaveExpired(visit, key, expiries.newest())) {
      if (visit) {
        noteExpired(visit, key)
        markOutdated(visit)
      }
      return visit?.expiredMode === 'refreshed' ? { ...seen(entry, true), lastModified: -1 } : seen(entry, true)
    }
    // Without an entry Next.js would take the page for one that the build found missing.
    if (entry.value === null) return { ...entry, lastModified: -1 }
    withhold(visit, key, isFetch ? undefined : pathOf(key))
    return isFetch ? seen(null) : null
  }

  /** Whether the visit began before a purge of this entry: its data may be older than the purge, and must not be stored. */
  function isOlderThanExpiry(visit, key, context, value) {
    if (!visit) return false
    return expiries.judge(visit.startTime, () => tagsFor(visit, key, context, value)) === 'expired'
  }

  /** To be called when the entry is stored. */
  function noteStored(visit, key, context, value) {
    late.delete(key)
    if (!isOlderThanExpiry(visit, key, context, value)) return
    late.set(key, Date.now())
    if (late.size > MAX_LATE) late.delete(late.keys().next().value)
  }

  return { judged, isOlderThanExpiry, noteStored }
}

function noteExpired(visit, key) {
  visit.expired ??= new Set()
  visit.expired.add(key)
}

function noteFound(visit, key, { tags, softTags, isFetch }, { entry, isExpired }) {
  // Tags of fetched data count for responses that the app itself allows the edge to cache.
  if (isFetch) {
    if (tags || softTags) note(visit, labelOf([...(tags ?? []), ...(softTags ?? [])]))
  } else if (entry) {
    mend(entry.value)
    visit.found ??= new Map()
    visit.found.set(key, entry.value)
    describe(key, entry.value, entry.lastModified, { isExpired })
  }
}

/** Tags as the service records them, and the requested path, which may lead to a page of another path. */
function tagsFor(visit, key, { tags, softTags, isFetch }, value) {
  const own = isFetch ? [...(tags ?? []), ...(softTags ?? []), ...(value?.tags ?? [])] : tagsOf(key, value)
  return visit ? [...own.map(encodeTag), encodeTag(pathnameOf(visit.url))] : own.map(encodeTag)
}

function longAgo({ cacheControl }) {
  const seconds = cacheControl?.revalidate
  return Date.now() - (typeof seconds === 'number' ? seconds * 1000 + 1 : LONG_AGO_MS)
}

module.exports = { createJudge }
