/** Problems with tools. */
import semver from 'semver'
import { Problem } from '../../contract/index.ts'
import { changeTo, DEFAULT_LINE } from './node-lines.ts'
import { NpmError } from './registry.ts'

/** The app requires a version that does not exist. */
export function noSuchVersion(title: string, range: string): Problem {
  return new Problem(
    'PLAN_FAILED',
    `The app asks for ${title} ${range}, which does not exist. Change it in packageManager of package.json.`,
    { metadata: { tool: title, wanted: range } },
  )
}

/** The same for Node, with the version to set instead, and where. */
export function noSuchNode(range: string, setBy: string | undefined, versions: readonly string[]): Problem {
  const lines = [...new Set(versions.map((version) => semver.major(version)))].toSorted((a, b) => a - b)
  const who = setBy ?? 'The app'
  const asks = `${who} asks for Node ${range}, which the registry does not have for this machine (${PLATFORM})`
  return new Problem(
    'PLAN_FAILED',
    `${asks}. ${changeTo(setBy)}, or to another available version: ${inWords(lines)}.`,
    {
      metadata: { tool: 'Node', wanted: range, use: String(DEFAULT_LINE) },
    },
  )
}

const PLATFORM = `${process.platform}-${process.arch}`

/** The registry does not reply, or not as expected. The messages of npm go to the operator. */
export function notAvailable(what: string, cause: unknown): Problem {
  const why = cause instanceof NpmError ? cause.code : (cause as Error)?.name === 'TimeoutError' ? 'no answer' : 'fault'
  return new Problem(
    'TOOL_NOT_AVAILABLE',
    `${what} could not be fetched from the registry (${why}). Try again later.`,
    {
      metadata: { tool: what, fault: why },
      cause,
    },
  )
}

const inWords = (numbers: readonly number[]): string => numbers.join(', ').replace(/, (\d+)$/, ' and $1')
