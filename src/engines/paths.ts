/** Paths that come from a plan or the database are checked where they are used, whatever wrote them. */

/** A path inside of a folder: relative, and no step of it leads up. The empty one is the folder itself. */
export function checkInner(path: string, what: string): string {
  const isInner = !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..')
  if (isInner) return path
  throw new Error(`${what} must be a path inside of the app, without "..", and is ${JSON.stringify(path)}`)
}

/** A path in canonical form: absolute, and without empty steps, `.` and `..`. */
export function checkAbsolute(path: string, what: string): string {
  const [first, ...steps] = path.split('/')
  const isPlain =
    first === '' && steps.length > 0 && steps.every((step) => !['', '.', '..'].includes(step)) && !path.includes('\0')
  if (isPlain) return path
  throw new Error(`${what} must be an absolute path without "..", and is ${JSON.stringify(path)}`)
}

/** Throws where one mount point lies in another: the content of the outer one would decide where the inner one is. */
export function checkApart(places: readonly string[]) {
  const sorted = places.map((place) => `${place}/`).toSorted()
  for (const [index, place] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next?.startsWith(place)) throw new Error(`${next.slice(0, -1)} would be mounted in ${place.slice(0, -1)}`)
  }
}
