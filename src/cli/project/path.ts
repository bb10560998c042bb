/**
 * Paths of the API. Names come from project files, from what was typed and from answers of servers; each of them is one
 * step of a path, and leads nowhere else. The calls of a service take nothing but what is made here.
 */
import { UsageError } from '../../contract/index.ts'
import { noAnswer } from '../connection/failures.ts'

export class Path {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** What is written in the code stands as it is. A name that is filled in is one step; a path is as many as it has. */
export const api = (texts: TemplateStringsArray, ...filled: readonly (string | Path)[]): Path =>
  new Path(String.raw({ raw: texts }, ...filled.map((one) => (one instanceof Path ? String(one) : stepOf(one)))))

function stepOf(name: string): string {
  if (['', '.', '..'].includes(name) || !name.isWellFormed()) {
    throw new UsageError(`'${name}' cannot be a part of an address`)
  }
  return encodeURIComponent(name)
}

const STEP = '[A-Za-z]{1,40}/[A-Za-z0-9_-]{1,64}'
const RESOURCE = new RegExp(`^${STEP}(?:/${STEP}){0,5}$`)

/** What a server calls something, `accounts/…/apps/…`: a name, and not a way to somewhere else. */
export function resource(name: unknown): Path {
  if (typeof name === 'string' && RESOURCE.test(name)) return new Path(name)
  const called = typeof name === 'string' ? `'${name}'` : `a ${typeof name}`
  throw noAnswer(`The service calls something by a name that no Headland gives: ${called}.`)
}
