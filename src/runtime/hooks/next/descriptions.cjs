'use strict'
// Tags, age and expiry of entries of Next.js's cache. Responses that are made of an entry get them as headers.
const { carefully } = require('./carefully.cjs')
const { encodeTag, labelOf, markOutdated, note, TOO_MANY, visits } = require('./visits.cjs')

const TAGS_HEADER = 'x-next-cache-tags'
/** The prefix by which Next.js turns a path into a tag. */
const PATH_TAG = '_N_T_'

/**
 * A cache handler that stores values as JSON, as that of @wpengine/atlas-next 3.0 does, returns buffers as lists of numbers and
 * maps as empty objects. Next.js then answers 500, or sends `[object Object]`.
 */
function mend(value) {
  if (value === null || typeof value !== 'object') return
  for (const name of ['rscData', 'body'])
    if (value[name]?.type === 'Buffer' && Array.isArray(value[name].data)) value[name] = Buffer.from(value[name].data)
  if (value.segmentData && typeof value.segmentData.get !== 'function') value.segmentData = undefined
}

/** Tags and age of a stored value, by that value. */
const descriptions = new WeakMap()

/**
 * Notes that the response to the current visit is made of this entry. Other visits at the same time may share it, since Next.js
 * reads the cache only once for all of them; each of them reads `kind` of the value, and is noticed by that.
 */
function describe(key, value, lastModified, { isExpired = false } = {}) {
  const isThere = value !== null && typeof value === 'object'
  const known = isThere ? descriptions.get(value) : undefined
  const description =
    known?.lastModified === lastModified
      ? known
      : {
          key,
          label: labelOf(tagsOf(key, value)),
          lastModified,
          hasOwnLifetime: value?.headers?.['cache-control'] !== undefined,
        }
  description.isExpired = isExpired
  if (isThere) descriptions.set(value, description)
  if (isThere && !known && Object.isExtensible(value)) watchKind(value)
  const visit = visits.getStore()
  // A request for an on-demand revalidation is not answered with the page.
  if (visit && !visit.isOnDemand) noteDescribed(visit, description)
}

function watchKind(value) {
  let { kind } = value
  Object.defineProperty(value, 'kind', {
    configurable: true,
    enumerable: true,
    get() {
      const visit = visits.getStore()
      const description = descriptions.get(value)
      if (visit && !visit.isOnDemand && visit.description !== description)
        carefully(() => noteDescribed(visit, description))
      return kind
    },
    set(other) {
      kind = other
    },
  })
}

function noteDescribed(visit, description) {
  visit.description = description
  const { key, label, lastModified, hasOwnLifetime, isExpired } = description
  note(visit, label)
  if (isExpired) markOutdated(visit)
  // The first entry that was looked up decides on the lifetime, be it found or made now; an error page may come after it.
  visit.mainKey ??= key
  if (visit.mainKey !== key) return
  // A lifetime that the app has set by itself begins with the response, and not when the page was made.
  const isByNext = !hasOwnLifetime && !visit.res.hasHeader('cache-control')
  visit.ageSeconds = isByNext && lastModified > 0 ? Math.floor((Date.now() - lastModified) / 1000) : 0
}

function tagsOf(key, value) {
  const written = value?.headers?.[TAGS_HEADER]
  const path = pathOf(key)
  return [
    ...(typeof written === 'string' && written !== '' ? written.split(',') : []),
    PATH_TAG + path,
    ...(path === '/index' ? [`${PATH_TAG}/`] : []),
  ]
}

/** Since 16.4 the route is part of the key: `/route-cache/APP_PAGE/<digest>/$/blog/hello`. */
function pathOf(key) {
  const text = String(key)
  const end = text.startsWith('/route-cache/') ? text.indexOf('/$/') : -1
  return end === -1 ? text : text.slice(end + 2)
}

/** What is to be purged from the edge: tags, and for a tag of one path also that path, for responses without tags. */
function entriesOf(tags) {
  const entries = new Set(tags.length > 0 ? [TOO_MANY] : [])
  for (const tag of tags.map(encodeTag)) {
    entries.add(tag)
    if (tag.startsWith(`${PATH_TAG}/`) && !tag.includes('[')) entries.add(tag.slice(PATH_TAG.length))
  }
  return entries
}

module.exports = { PATH_TAG, describe, entriesOf, mend, pathOf, tagsOf }
