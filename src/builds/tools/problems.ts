/** What can go wrong with tools, in words. */
import { Problem } from '../../contract/index.ts'
import { NODE_MAJORS } from './exact.ts'
import { NpmError } from './registry.ts'

/** The app asks for what nobody has. */
export function noSuchVersion(title: string, range: string): Problem {
  const offered = title === 'Node' ? ` There are ${inWords(NODE_MAJORS)}.` : ''
  return new Problem('PLAN_FAILED', `The app asks for ${title} ${range}, which there is not.${offered}`, {
    metadata: { tool: title, wanted: range },
  })
}

/** The registry does not answer, or not with what it should. npm's own words are for the operator. */
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

const inWords = (numbers: readonly number[]): string => `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
