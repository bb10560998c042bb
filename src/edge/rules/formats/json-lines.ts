/** The lines of a JSON text at which the values in its lists begin, for messages about one of them. */

/** By the path of keys to a value, such as `redirects.0`. The text must be valid JSON. */
export function linesOfJson(text: string): (path: string) => number | undefined {
  const lines = new Map<string, number>()
  const open: { kind: 'object' | 'list'; key: string; index: number }[] = []
  let line = 1
  let isKey = false

  const pathHere = (): string => open.map(({ kind, key, index }) => (kind === 'list' ? String(index) : key)).join('.')
  const record = () => {
    // Deeper values are not reported: their text would make the paths long.
    if (open.length <= MAX_DEPTH) lines.set(pathHere(), line)
  }

  for (const [token] of text.matchAll(TOKEN)) {
    const inside = open.at(-1)
    if (token === '\n') line++
    else if (token === '{' || token === '[') {
      record()
      open.push({ kind: token === '{' ? 'object' : 'list', key: '', index: 0 })
      isKey = token === '{'
    } else if (token === '}' || token === ']') {
      open.pop()
      isKey = false
    } else if (token === ',') {
      if (inside?.kind === 'list') inside.index++
      isKey = inside?.kind === 'object'
    } else if (token === ':') isKey = false
    else if (isKey && inside) inside.key = open.length <= MAX_DEPTH ? (JSON.parse(token) as string) : ''
    else record()
  }
  return (path) => lines.get(path)
}

const MAX_DEPTH = 4

const TOKEN = /\n|[{}[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+/g
