/** The answer of a CGI program: headers, an empty line, the body. */
import { Problem } from '../contract/index.ts'

export type CgiHead = { status: number; headers: Record<string, string> }

const MAX_HEAD_BYTES = 16 * 1024

/** Takes chunks until the head is whole. */
export function createCgiHead() {
  let seen = Buffer.alloc(0)
  return {
    /** The head and what follows it; undefined while more is needed. */
    take(chunk: Buffer): { head: CgiHead; rest: Buffer } | undefined {
      seen = Buffer.concat([seen, chunk])
      const end = /\r?\n\r?\n/.exec(seen.subarray(0, MAX_HEAD_BYTES).toString('latin1'))
      if (end) {
        const text = seen.subarray(0, end.index).toString('latin1')
        return { head: readHead(text), rest: seen.subarray(end.index + end[0].length) }
      }
      if (seen.length > MAX_HEAD_BYTES) throw new Problem('GIT_FAILED', 'The answer of git has no end of its headers.')
      return undefined
    },
  }
}

/** Only what a client of git needs. */
const PASSED = ['content-type', 'cache-control', 'expires', 'pragma']

function readHead(text: string): CgiHead {
  const fields = text.split(/\r?\n/).map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
  })
  const all = Object.fromEntries(fields)
  const status = Number(/^\d{3}/.exec(all.status ?? '200')?.[0] ?? 500)
  return { status, headers: Object.fromEntries(fields.filter(([name]) => PASSED.includes(name))) }
}
