/**
 * Paths of the API. Names come from project files, from the command line and from responses of servers; each of them becomes
 * exactly one step of a path. The calls of a service accept only paths that are made here.
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

/** A template tag: text stays as it is, a name that is filled in becomes one encoded step, and a path is inserted as it is. */
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

/** The resource name that a server sent, `accounts/…/apps/…`, checked, so that it cannot lead to another path. */
export function resource(name: unknown): Path {
  if (typeof name === 'string' && RESOURCE.test(name)) return new Path(name)
  const called = typeof name === 'string' ? `'${name}'` : `a ${typeof name}`
  throw noAnswer(`The service calls something by a name that no Headland gives: ${called}.`)
}
