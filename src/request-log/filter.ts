/** Which recorded requests a reader wants to see. Pure. */

export type RequestFilter = {
  /** `500`, or `5xx` for a class. */
  status?: string | undefined
  /** `*` stands for any characters. */
  path?: string | undefined
  id?: string | undefined
}

type Filtered = { status: number; path: string; id?: string | undefined }

export function createFilter({ status, path, id }: RequestFilter): (request: Filtered) => boolean {
  const isStatus = status === undefined ? always : matchStatus(status)
  const isPath = path === undefined ? always : matchPath(path)
  return (request) => isStatus(request.status) && isPath(request.path) && (id === undefined || request.id === id)
}

const always = () => true

function matchStatus(wanted: string): (status: number) => boolean {
  if (!wanted.endsWith('xx')) return (status) => status === Number(wanted)
  return (status) => Math.floor(status / 100) === Number(wanted[0])
}

/** One pass from left to right: the shortest text for each `*` is enough, except for the last one. */
function matchPath(pattern: string): (path: string) => boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return (path) => path === pattern
  return (path) => {
    if (!path.startsWith(first) || !path.endsWith(last)) return false
    let at = first.length
    const end = path.length - last.length
    for (const part of others) {
      const found = path.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return at <= end
  }
}
