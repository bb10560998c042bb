/**
 * Parses package.json. A field that does not have the type that npm documents counts as absent, so that other code need not
 * check again. Only a file that is no JSON object is refused.
 */
import { Problem } from '../../../contract/index.ts'

export type PackageJson = {
  main: string | undefined
  /** Scripts with something in them. */
  scripts: Readonly<Record<string, string>>
  /** Dependencies of every kind, with the range as written. */
  dependencies: Readonly<Record<string, string>>
  /** The globs of the workspaces; undefined where there are none. */
  workspaces: readonly string[] | undefined
  /** The package manager, and the field that names it. */
  packageManager: { name: string; version: string; field: string } | undefined
  /** `engines.node`, as written. */
  node: string | undefined
  /** Whether it has commands (`bin`), which an install links. */
  hasCommands: boolean
  /** Names of packages that an install takes from a folder of the archive. */
  localPackages: readonly string[]
}

/** Where a name is in two of them, the earlier one counts. */
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
    // Editors on Windows write a byte order mark, which npm ignores as well.
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

/** A list, or Yarn's form: an object with the list in it. */
function workspacesIn(value: unknown): string[] | undefined {
  const list = Array.isArray(value) ? value : objectIn(value).packages
  return Array.isArray(list) ? list.filter((glob) => typeof glob === 'string') : undefined
}

/** `pnpm@10.1.0+sha512.…`, or `devEngines` of newer versions of npm. */
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

/** Overrides can have local packages too. pnpm also copies workspaces that are `injected`. */
function localIn(value: Record<string, unknown>): string[] {
  const pnpm = objectIn(value.pnpm)
  const places = [...KINDS.map((kind) => value[kind]), value.overrides, value.resolutions, pnpm.overrides]
  const injected = Object.entries(objectIn(value.dependenciesMeta)).filter(([, meta]) => objectIn(meta).injected)
  return [...places.flatMap((place) => localsBelow(place, 0)), ...injected.map(([name]) => name)]
}

/** npm's overrides are nested. */
const MAX_OVERRIDE_DEPTH = 8

function localsBelow(place: unknown, depth: number): string[] {
  return Object.entries(objectIn(place)).flatMap(([name, spec]) => {
    if (typeof spec === 'string') return LOCAL.test(spec) ? [name] : []
    return depth < MAX_OVERRIDE_DEPTH ? localsBelow(spec, depth + 1) : []
  })
}

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= MAX_LENGTH.text && value.trim() !== '' ? value : undefined

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** Longer names are invalid; commands and ranges are cut. */
const MAX_LENGTH = { name: 214, text: 10_000 }

/** Without a prototype, so that a word such as `constructor` in a script is not taken for the name of a script. */
function stringsIn(value: unknown): Record<string, string> {
  const found: Record<string, string> = Object.create(null)
  for (const [name, text] of Object.entries(objectIn(value))) {
    if (typeof text !== 'string' || text.trim() === '' || name.length > MAX_LENGTH.name) continue
    found[name] = text.slice(0, MAX_LENGTH.text)
  }
  return found
}
