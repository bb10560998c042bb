/**
 * package.json as people really write it: whatever is not of the type that npm documents counts as not being there, so
 * that nobody after this has to ask again. Only a file that is no JSON object at all is refused.
 */
import { Problem } from '../../../contract/index.ts'

export type PackageJson = {
  main: string | undefined
  /** Scripts with something in them. */
  scripts: Readonly<Record<string, string>>
  /** Everything that an install brings, with the range as it is written: dependencies of every kind. */
  dependencies: Readonly<Record<string, string>>
  /** Which folders below are installed together with this one, as globs; undefined where that is not asked for. */
  workspaces: readonly string[] | undefined
  /** What installs the packages, and where that is said. */
  packageManager: { name: string; version: string; field: string } | undefined
  /** `engines.node`, as it is written. */
  node: string | undefined
  /** Whether it brings commands, which an install links into place. */
  hasCommands: boolean
  /** Packages that an install takes out of a folder of the archive, by name. */
  localPackages: readonly string[]
}

/** Later kinds lose to earlier ones where a name stands in two of them. */
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const

export function parsePackageJson(text: string, path: string): PackageJson {
  const value = parseObject(text, path)
  return {
    main: textIn(value.main),
    scripts: stringsIn(value.scripts),
    dependencies: Object.assign(Object.create(null), ...KINDS.toReversed().map((kind) => stringsIn(value[kind]))),
    workspaces: workspacesIn(value.workspaces),
    packageManager: packageManagerIn(value),
    node: textIn(objectIn(value.engines).node),
    hasCommands: value.bin !== undefined,
    localPackages: localIn(value),
  }
}

function parseObject(text: string, path: string): Record<string, unknown> {
  let value: unknown
  try {
    // Editors on Windows write a byte order mark, and npm takes it off as well.
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replaceAll(/\s+/g, ' ') : String(cause)
    throw new Problem('PLAN_FAILED', `${path} is not well-formed JSON: ${why}`, { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
    throw new Problem('PLAN_FAILED', `${path} must be a JSON object, but it is ${kind}.`)
  }
  return value as Record<string, unknown>
}

/** A list, or an object with the list in it, as Yarn has it. */
function workspacesIn(value: unknown): string[] | undefined {
  const list = Array.isArray(value) ? value : objectIn(value).packages
  return Array.isArray(list) ? list.filter((glob) => typeof glob === 'string') : undefined
}

/** `pnpm@10.1.0+sha512.…`, and what newer npm has instead of it. */
function packageManagerIn(value: Record<string, unknown>): PackageJson['packageManager'] {
  const [, name, version] = /^([a-z]+)@([^\s+]+)/.exec(textIn(value.packageManager) ?? '') ?? []
  if (name !== undefined && version !== undefined) return { name, version, field: 'packageManager' }
  const wanted = objectIn(value.devEngines).packageManager
  for (const each of [wanted].flat()) {
    const { name, version } = objectIn(each)
    if (typeof name === 'string') return { name, version: textIn(version) ?? '*', field: 'devEngines.packageManager' }
  }
  return undefined
}

const LOCAL = /^(?:(?:file|link|portal|exec):|\.{0,2}\/|~\/)/

/** Overrides can name them as well. pnpm also copies workspaces that are `injected`. */
function localIn(value: Record<string, unknown>): string[] {
  const pnpm = objectIn(value.pnpm)
  const places = [...KINDS.map((kind) => value[kind]), value.overrides, value.resolutions, pnpm.overrides]
  const injected = Object.entries(objectIn(value.dependenciesMeta)).filter(([, meta]) => objectIn(meta).injected)
  return [...places.flatMap((place) => localsBelow(place, 0)), ...injected.map(([name]) => name)]
}

/** npm's overrides lie in one another. */
const OVERRIDES_DEEPEST = 8

function localsBelow(place: unknown, depth: number): string[] {
  return Object.entries(objectIn(place)).flatMap(([name, spec]) => {
    if (typeof spec === 'string') return LOCAL.test(spec) ? [name] : []
    return depth < OVERRIDES_DEEPEST ? localsBelow(spec, depth + 1) : []
  })
}

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= MAX_LENGTH.text && value.trim() !== '' ? value : undefined

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** A name that is longer is no name; of a command or a range, more is not looked at than a person would write. */
const MAX_LENGTH = { name: 214, text: 10_000 }

/** Without a prototype: a word of a script such as `constructor` must not be taken for the name of one. */
function stringsIn(value: unknown): Record<string, string> {
  const found: Record<string, string> = Object.create(null)
  for (const [name, text] of Object.entries(objectIn(value))) {
    if (typeof text !== 'string' || text.trim() === '' || name.length > MAX_LENGTH.name) continue
    found[name] = text.slice(0, MAX_LENGTH.text)
  }
  return found
}
