/**
 * package.json as people really write it: whatever is not of the type that npm documents counts as not being there, so
 * that nobody after this has to ask again. Only a file that is no JSON object at all is refused.
 */
import { Problem } from '../contract/index.ts'

export type PackageJson = {
  main: string | undefined
  /** Scripts with something in them. */
  scripts: Readonly<Record<string, string>>
  /** Everything that an install brings, with the range as it is written: dependencies of every kind. */
  dependencies: Readonly<Record<string, string>>
  hasWorkspaces: boolean
}

/** Later kinds lose to earlier ones where a name stands in two of them. */
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const

export function parsePackageJson(text: string, path: string): PackageJson {
  const value = parseObject(text, path)
  return {
    main: typeof value.main === 'string' && value.main !== '' ? value.main : undefined,
    scripts: stringsIn(value.scripts),
    dependencies: Object.assign({}, ...KINDS.toReversed().map((kind) => stringsIn(value[kind]))),
    hasWorkspaces: value.workspaces !== undefined,
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

function stringsIn(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => {
      return typeof entry[1] === 'string' && entry[1].trim() !== ''
    }),
  )
}
